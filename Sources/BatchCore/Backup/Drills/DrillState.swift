import BatchEngine

/// The results of the drills of a set: where the next one continues, and archives in which damage was found.
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
  /// The last file that was drilled in the cycle of large files.
  var lastLarge: Place?
  /// The damage of archives, by the stamps of their snapshots.
  private var damage: [String: Damage] = [:]

  private struct Damage: Sendable {
    var paths: Set<PathBytes> = []
    /// Whether there are damaged files whose names were not recorded.
    var hasOthers = false
  }

  /// The most bytes for names of damaged files, so that the state file can be read at once.
  private static let room = 1 << 18

  init() {}

  /// - Throws: `malformed`; then the cycle starts from the beginning.
  init(_ path: PathBytes, in run: RunContext) throws(BatchError) {
    guard let bytes = try? SmallFile.read(path) else { return }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let members = try SnapshotLine(Array(line))
      switch members.text("type") {
      case "drill": last = try Self.place(members)
      case "large": lastLarge = try Self.place(members)
      case "suspect":
        guard let archive = members.text("archive"), LocalTime.seconds(ofStamp: archive.utf8) != nil else {
          throw SnapshotLine.malformed("archive")
        }
        if let path = try members.path("path") {
          damage[archive, default: Damage()].paths.insert(path)
        } else {
          damage[archive, default: Damage()].hasOthers = true
        }
      default: throw SnapshotLine.malformed
      }
    }
  }

  private static func place(_ members: SnapshotLine) throws(BatchError) -> Place? {
    guard let source = try members.path("source"), let path = try members.path("path") else { return nil }
    return Place(source: source, path: path)
  }

  /// Archives in which damage was found, by the stamps of their snapshots.
  package var suspects: Set<String> { Set(damage.keys) }

  /// Records the result of drilling a file. An archive is no longer suspect when all its damaged files could be restored.
  mutating func note(_ path: PathBytes, in archive: String, isDamaged: Bool) {
    guard isDamaged else {
      guard damage[archive]?.paths.remove(path) != nil else { return }
      if damage[archive]?.paths.isEmpty == true, damage[archive]?.hasOthers == false { forget(archive) }
      return
    }
    let taken = damage.values.reduce(0) { $1.paths.reduce($0) { $0 + $1.bytes.count } }
    if taken + path.bytes.count <= Self.room {
      damage[archive, default: Damage()].paths.insert(path)
    } else {
      damage[archive, default: Damage()].hasOthers = true
    }
  }

  /// Clears the damage of an archive of which all files could be restored.
  mutating func forget(_ archive: String) { damage[archive] = nil }

  var lines: [UInt8] {
    var lines = Self.line("drill", last)
    if let lastLarge { lines += Self.line("large", lastLarge) }
    for (archive, damage) in damage.sorted(by: { $0.key < $1.key }) {
      for path in damage.paths.sorted() {
        var line = JSONLine("suspect")
        line.add("archive", archive)
        line.add(path: path)
        lines += line.finished()
      }
      guard damage.hasOthers else { continue }
      var line = JSONLine("suspect")
      line.add("archive", archive)
      lines += line.finished()
    }
    return lines
  }

  private static func line(_ type: String, _ place: Place?) -> [UInt8] {
    var line = JSONLine(type)
    if let place {
      line.add(path: place.source, as: "source")
      line.add(path: place.path)
    }
    return line.finished()
  }
}

extension BackupSet {
  /// Archives in which drills found damage, by the stamps of their snapshots.
  package func suspects(in run: RunContext) -> Set<String> {
    [false, true].reduce(into: Set<String>()) { suspects, isEncrypted in
      guard let path = drillPath(isEncrypted: isEncrypted), let state = try? DrillState(path, in: run) else {
        return
      }
      suspects.formUnion(state.suspects)
    }
  }

  /// When the last drill of the set was recorded; nil if there was none.
  package var lastDrill: FileStatus.Time? {
    drillPath(isEncrypted: false).flatMap { try? $0.status() }?.modified
  }
}
