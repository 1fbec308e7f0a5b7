import BatchEngine

/// The facts about a snapshot in the first line of its manifest.
package struct SnapshotHeader: Sendable, Hashable {
  /// That of new manifests. Schema 1 had no references and was not compressed.
  package static let schema: UInt64 = 2

  package var name: SnapshotName
  /// The order of snapshots, independent of the clock.
  package var sequence: UInt64
  /// The time of the machine's clock.
  package var started: FileStatus.Time
  /// How many snapshots it is after the last full one; 0 for a full one, whose own archive contains everything except files in
  /// whose place rot was found.
  package var increment: UInt64
  /// The id of the machine; nil in manifests of earlier versions.
  package var machine: String?
  /// The name of the machine, for people.
  package var host: String?
  /// Nil if unknown: that of an encrypted snapshot without its key.
  package var sources: SourceList?
  /// A word for the sources, which does not reveal them.
  package var sourcesWord: String?

  package var isFull: Bool { increment == 0 }
}

extension SnapshotHeader {
  func appendLine(to lines: inout [UInt8]) {
    JSONLine.append("snapshot", to: &lines) { line in
      line.add("schema", Self.schema)
      line.add("set", name.set.text ?? "")
      line.add("id", name.stamp)
      line.add("sequence", sequence)
      line.add("started", time: started)
      line.add("full", isFull)
      line.add("increment", increment)
      if let machine { line.add("machine", machine) }
      if let host { line.add("host", host) }
      sources?.append(to: &line)
      if let sourcesWord { line.add("sources_word", sourcesWord) }
    }
  }

  /// - Throws: `malformed` for another line, `unsupported` for a later schema.
  init(_ line: SnapshotLine) throws(BatchError) {
    guard line.text("type") == "snapshot", let set = try line.path("set"), let stamp = line.text("id"),
      LocalTime.seconds(ofStamp: stamp.utf8) != nil, let started = line.time("started"),
      started.seconds.magnitude < SnapshotLine.limit
    else { throw SnapshotLine.malformed }
    guard (1...Self.schema).contains(try line.number("schema")) else {
      throw BatchError(.unsupported, "the backup manifest was made by a newer version of this program")
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
    machine = try line.word("machine")
    host = line.text("host")
    sources = try SourceList.read(line)
    sourcesWord = try line.word("sources_word")
  }
}

extension SnapshotHeader {
  /// Adds the paths of the sources: the first line of earlier versions has none, nor has that of a long list.
  mutating func addSources(of footer: SnapshotFooter) throws(BatchError) {
    guard sources?.paths == nil, !footer.sources.isEmpty else { return }
    let list = try SourceList(footer.sources.map(\.path))
    if sources == nil || sources == list { sources = list }
  }
}

/// A folder or file that was named as a source, before its rows, and again with its counts after all rows.
package struct SnapshotSource: Sendable, Hashable {
  /// The absolute path without dots.
  package var path: PathBytes
  /// The identity of its file system, in hexadecimal.
  package var fileSystem: String
  /// The UUID of its file system, in hexadecimal; nil if the kernel gives none, and in manifests of earlier versions.
  package var fileSystemUUID: String?
  /// How many of its rows are not folders.
  package var files: UInt64 = 0
  /// Mount points below it that had content, with the paths of their rows.
  package private(set) var mounts: [PathBytes] = []

  /// In bytes, for all mount points: the line of a source must not become too long.
  private static let mostOfMounts = 1 << 18
  /// A path contains no empty names.
  private static let mountSeparator = Array("//".utf8)
}

extension SnapshotSource {
  /// Its place below the folder in which the paths of the rows begin.
  package var place: RelativePath? { try? RelativePath(MemberNaming.name(of: path)) }

  /// Whether two records of a source have the same file system. Numbers of devices are not compared: a start of the machine may
  /// change them.
  func hasFileSystem(of other: SnapshotSource) -> Bool {
    guard let uuid = fileSystemUUID, let otherUUID = other.fileSystemUUID else {
      return fileSystem == other.fileSystem
    }
    return uuid == otherUUID
  }

  mutating func add(mount path: PathBytes) {
    let size = mounts.reduce(path.bytes.count) { $0 + $1.bytes.count + 2 }
    if size <= Self.mostOfMounts { mounts.append(path) }
  }

  func appendLine(as type: String, to lines: inout [UInt8]) {
    JSONLine.append(type, to: &lines) { line in
      line.add(path: path)
      line.add("file_system", fileSystem)
      if let fileSystemUUID { line.add("file_system_uuid", fileSystemUUID) }
      line.add("files", files)
      if !mounts.isEmpty {
        line.add(path: PathBytes(mounts.map(\.bytes).joined(separator: Self.mountSeparator)), as: "mounts")
      }
    }
  }

  init(_ line: SnapshotLine) throws(BatchError) {
    guard let path = try line.path("path"), let fileSystem = line.text("file_system") else {
      throw SnapshotLine.malformed
    }
    self.path = path
    self.fileSystem = fileSystem
    fileSystemUUID = line.text("file_system_uuid")
    files = try line.number("files")
    mounts = try line.path("mounts")?.bytes.split(separator: Self.mountSeparator).map { PathBytes($0) } ?? []
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
  /// How many inputs could not be backed up; nil in manifests of earlier versions.
  package var failures: UInt64?
  /// The size of this snapshot's archive, in bytes.
  package var archiveSize: UInt64 = 0
  /// The digest of the index in this snapshot's archive.
  package var index: Digest?
  /// Whether the run was cut before it had walked all sources.
  package var isCut = false
  /// The last path of a snapshot that was cut; nil for a complete one, and if unknown.
  package var reached: ReachedPath?
  /// Whether the archive was read back and compared before it was renamed.
  package var isVerified = false
  /// The file selection, as one word: when it changes, hard links are examined again.
  package var selection = ""
  /// What the file selection leaves out; nil in manifests of earlier versions.
  package var filter: SnapshotFilter?
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
      JSONLine.append("needs", to: &lines) { line in
        line.add("archive", stamp)
        line.add("files", need.files)
        line.add("bytes", need.bytes)
      }
    }
    let sha256 = try digest(lines[start...])
    JSONLine.append("end", to: &lines) { line in
      line.add("rows", rows)
      line.add("files", files)
      line.add("bytes", bytes)
      line.add("archive_size", archiveSize)
      if let linked { line.add("linked", linked) }
      if let failures { line.add("failures", failures) }
      if let index { line.add("index_sha256", index.hex) }
      if !recipients.isEmpty { line.add("recipients", recipients) }
      line.add("verified", isVerified)
      if isCut { line.add("complete", false) }
      if let reached {
        line.add(path: reached.source, as: "reached_source")
        line.add(path: reached.path, as: "reached")
        line.add("reached_directory", reached.isFolder)
      }
      line.add("selection", selection)
      if !selection.isEmpty || filter?.isEmpty == false { filter?.append(to: &line) }
      line.add("footer", offset)
      line.add("manifest_sha256", sha256.hex)
    }
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
      failures = line.has("failures") ? try line.number("failures") : nil
      archiveSize = try line.number("archive_size")
      index = line.digest("index_sha256")
      isVerified = line.isTrue("verified")
      isCut = line.has("complete") && !line.isTrue("complete")
      if let source = try line.path("reached_source"), let path = try line.path("reached") {
        reached = ReachedPath(source: source, path: path, isFolder: line.isTrue("reached_directory"))
      }
      selection = line.text("selection") ?? ""
      filter = try SnapshotFilter.read(line)
      recipients = line.text("recipients") ?? ""
      guard let digest = line.digest("manifest_sha256") else { throw SnapshotLine.malformed }
      return digest
    default: throw SnapshotLine.malformed
    }
    return nil
  }
}

/// The place in the order of a manifest up to which a snapshot has rows.
package struct ReachedPath: Sendable, Hashable {
  /// The path of a source.
  package let source: PathBytes
  /// The path of a row.
  package let path: PathBytes
  let isFolder: Bool

  /// Whether a row is not behind this place.
  func includes(_ path: [UInt8], isFolder: Bool, of source: PathBytes) -> Bool {
    guard source == self.source else { return source < self.source }
    return TreeOrder.compare(path, isFolder: isFolder, self.path.bytes, isFolder: self.isFolder) <= 0
  }

  func includes(_ other: ReachedPath) -> Bool {
    includes(other.path.bytes, isFolder: other.isFolder, of: other.source)
  }
}

extension UInt64 {
  /// Adds, clamped to the largest number that a line may contain: a few files with holes can have more bytes than that.
  mutating func addWithinRange(_ other: UInt64) {
    self += Swift.min(other, .max - self)
  }
}
