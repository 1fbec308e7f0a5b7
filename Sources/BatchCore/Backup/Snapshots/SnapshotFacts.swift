import BatchEngine

/// The facts about a snapshot in the first line of its manifest.
package struct SnapshotHeader: Sendable, Hashable {
  package static let schema: UInt64 = 1

  package var name: SnapshotName
  /// The order of snapshots, independent of the clock.
  package var sequence: UInt64
  /// The time of the machine's clock.
  package var started: FileStatus.Time
  /// How many snapshots it is after the last full one; 0 for a full one, whose own archive contains everything.
  package var increment: UInt64

  package var isFull: Bool { increment == 0 }

  func appendLine(to line: inout [UInt8]) {
    line.append(literal: "{\"type\":\"snapshot\",\"schema\":")
    line += String(Self.schema).utf8
    line.append(literal: ",\"set\":")
    JSONText.append(name.set.text ?? "", to: &line)
    line.append(literal: ",\"id\":\"")
    line += name.stamp.utf8
    line.append(literal: "\",\"sequence\":")
    line += String(sequence).utf8
    line.append(literal: ",\"started\":")
    SnapshotEntry.append(started, to: &line)
    line.append(literal: ",\"full\":")
    line += String(isFull).utf8
    line.append(literal: ",\"increment\":")
    line += String(increment).utf8
    line.append(literal: "}\n")
  }

  /// - Throws: `malformed` for another line, `unsupported` for a later schema.
  init(_ line: SnapshotLine) throws(BatchError) {
    guard line.text("type") == "snapshot", let set = try line.path("set"), let stamp = line.text("id"),
      LocalTime.seconds(ofStamp: stamp.utf8) != nil, let started = line.time("started"),
      started.seconds.magnitude < SnapshotLine.limit
    else { throw SnapshotLine.malformed }
    guard try line.number("schema") == Self.schema else {
      throw BatchError(.unsupported, "a later version of this program wrote the backup manifest")
    }
    do throws(BatchError) {
      try SnapshotName.check(set)
    } catch {
      throw SnapshotLine.malformed("set")
    }
    name = SnapshotName(set: set, stamp: stamp)
    sequence = try line.number("sequence")
    self.started = started
    increment = try line.number("increment")
  }

  init(name: SnapshotName, sequence: UInt64, started: FileStatus.Time, increment: UInt64) {
    self.name = name
    self.sequence = sequence
    self.started = started
    self.increment = increment
  }
}

/// A folder or file that was named as a source, before its rows, and again with its counts after all rows.
package struct SnapshotSource: Sendable, Hashable {
  /// The absolute path without dots.
  package var path: PathBytes
  /// The identity of its file system, in hexadecimal.
  package var fileSystem: String
  /// How many of its rows are not folders.
  package var files: UInt64 = 0

  func appendLine(as type: StaticString, to line: inout [UInt8]) {
    line.append(literal: "{\"type\":\"")
    line.append(literal: type)
    line.append(literal: "\",")
    JSONText.append(path: path, to: &line)
    line.append(literal: ",\"file_system\":\"")
    line += fileSystem.utf8
    line.append(literal: "\",\"files\":")
    line += String(files).utf8
    line.append(literal: "}\n")
  }

  init(_ line: SnapshotLine) throws(BatchError) {
    guard let path = try line.path("path"), let fileSystem = line.text("file_system") else {
      throw SnapshotLine.malformed
    }
    self.path = path
    self.fileSystem = fileSystem
    files = try line.number("files")
  }

  init(path: PathBytes, fileSystem: String) {
    self.path = path
    self.fileSystem = fileSystem
  }
}

/// The facts in the lines after the rows of a backup manifest.
package struct SnapshotFooter: Sendable, Hashable {
  /// The part of a snapshot that is in one archive.
  package struct Need: Sendable, Hashable {
    package var files: UInt64 = 0
    package var bytes: UInt64 = 0

    mutating func add(files: UInt64, bytes: UInt64) {
      self.files.addWithinRange(files)
      self.bytes.addWithinRange(bytes)
    }
  }

  package var sources: [SnapshotSource] = []
  /// The needs, by the stamps of the archives.
  package var needs: [String: Need] = [:]
  package var rows: UInt64 = 0
  package var files: UInt64 = 0
  package var bytes: UInt64 = 0
  /// How many rows are names of files with several names; nil in manifests of earlier versions, which do not store that.
  package var linked: UInt64? = 0
  /// The size of this snapshot's archive, in bytes.
  package var archiveSize: UInt64 = 0
  /// The digest of the index in this snapshot's archive.
  package var index: Digest?
  /// Whether the archive was read back and compared before it was renamed.
  package var isVerified = false
  /// The file selection, as one word: when it changes, hard links are examined again.
  package var selection = ""
  /// The recipients of the encryption, as one word; empty if not encrypted.
  package var recipients = ""

  init() {}

  /// - Parameters:
  ///   - offset: the offset of the first of these lines.
  ///   - digest: the digest of all bytes before the last line.
  func appendLines(
    to lines: inout [UInt8], offset: UInt64, _ digest: (ArraySlice<UInt8>) throws(BatchError) -> Digest
  )
    throws(BatchError)
  {
    let start = lines.count
    for source in sources { source.appendLine(as: "total", to: &lines) }
    for (stamp, need) in needs.sorted(by: { $0.key < $1.key }) {
      lines += #"{"type":"needs","archive":"\#(stamp)","files":\#(need.files),"bytes":\#(need.bytes)}"#.utf8
      lines.append(UInt8(ascii: "\n"))
    }
    let sha256 = try digest(lines[start...])
    lines +=
      #"{"type":"end","rows":\#(rows),"files":\#(files),"bytes":\#(bytes),"archive_size":\#(archiveSize)"#
      .utf8
    if let linked { lines += #","linked":\#(linked)"#.utf8 }
    if let index { lines += #","index_sha256":"\#(index.hex)""#.utf8 }
    if !recipients.isEmpty { lines += #","recipients":"\#(recipients)""#.utf8 }
    lines +=
      #","verified":\#(isVerified),"selection":"\#(selection)","footer":\#(offset),"manifest_sha256":"\#(sha256.hex)"}"#
      .utf8
    lines.append(UInt8(ascii: "\n"))
  }

  /// Parses one of the lines.
  ///
  /// - Returns: for the last line, the digest of all bytes before it.
  mutating func take(_ line: SnapshotLine) throws(BatchError) -> Digest? {
    switch line.text("type") {
    case "total": sources.append(try SnapshotSource(line))
    case "needs":
      guard let stamp = line.text("archive"), LocalTime.seconds(ofStamp: stamp.utf8) != nil else {
        throw SnapshotLine.malformed("archive")
      }
      needs[stamp] = Need(files: try line.number("files"), bytes: try line.number("bytes", below: .max))
    case "end":
      rows = try line.number("rows")
      files = try line.number("files")
      bytes = try line.number("bytes", below: .max)
      linked = line.has("linked") ? try line.number("linked") : nil
      archiveSize = try line.number("archive_size")
      index = line.text("index_sha256").flatMap { Digest(.sha256, hex: Array($0.utf8)[...]) }
      isVerified = line.isTrue("verified")
      selection = line.text("selection") ?? ""
      recipients = line.text("recipients") ?? ""
      guard let digest = line.text("manifest_sha256").flatMap({ Digest(.sha256, hex: Array($0.utf8)[...]) })
      else { throw SnapshotLine.malformed }
      return digest
    default: throw SnapshotLine.malformed
    }
    return nil
  }
}

extension UInt64 {
  /// Adds, clamped to the largest number that a line may contain: a few files with holes can have more bytes than that.
  mutating func addWithinRange(_ other: UInt64) {
    self += Swift.min(other, .max - self)
  }
}
