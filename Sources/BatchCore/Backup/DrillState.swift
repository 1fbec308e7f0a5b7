import BatchEngine
import Glibc

/// What drills of a set have come to: where the next one goes on, and archives in which damage was found.
package struct DrillState: Sendable {
  /// A file, by its source and its name in the archive.
  struct Place: Sendable, Hashable {
    let source: PathBytes
    let path: PathBytes

    /// Whether a file comes later in the order of manifests.
    func isBefore(_ source: PathBytes, _ path: PathBytes) -> Bool {
      if source != self.source { return self.source < source }
      return TreeOrder.compare(self.path.bytes, isFolder: false, path.bytes, isFolder: false) < 0
    }
  }

  /// The last file that was drilled; nil at the beginning of a cycle.
  var last: Place?
  /// By the stamps of their snapshots.
  package internal(set) var suspects: Set<String> = []

  init() {}

  /// - Throws: `malformed`; then everything is drilled from the beginning.
  init(_ path: PathBytes, in run: RunContext) throws(BatchError) {
    guard let bytes = try? SmallFile.read(path) else { return }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let members = try SnapshotLine(Array(line))
      switch members.text("type") {
      case "drill":
        if let source = try members.path("source"), let path = try members.path("path") {
          last = Place(source: source, path: path)
        }
      case "suspect":
        guard let archive = members.text("archive"), LocalTime.seconds(ofStamp: archive.utf8) != nil else {
          throw SnapshotLine.malformed("archive")
        }
        suspects.insert(archive)
      default: throw SnapshotLine.malformed
      }
    }
  }

  var lines: [UInt8] {
    var lines = Array(#"{"type":"drill""#.utf8)
    if let last {
      lines.append(UInt8(ascii: ","))
      JSONText.append(bytes: last.source.bytes, key: "source", to: &lines)
      lines.append(UInt8(ascii: ","))
      JSONText.append(path: last.path, to: &lines)
    }
    lines += "}\n".utf8
    for archive in suspects.sorted() { lines += "{\"type\":\"suspect\",\"archive\":\"\(archive)\"}\n".utf8 }
    return lines
  }
}

extension BackupSet {
  /// Archives in which drills found damage, by the stamps of their snapshots.
  package func suspects(in run: RunContext) -> Set<String> {
    (try? DrillState(drillPath, in: run))?.suspects ?? []
  }

  /// When the last drill of the set noted how far it came; nil when there was none.
  package var lastDrill: FileStatus.Time? {
    var raw = stat()
    return drillPath.withCString { lstat($0, &raw) } == 0 ? FileStatus(raw).modified : nil
  }
}
