import BatchEngine

/// One row of a backup manifest: the state of a path in a snapshot, and the archive that contains its content.
package struct SnapshotEntry: Sendable, Hashable {
  /// Never ``ArchiveEntry/Kind/hardLink``: each name of a file has its own row.
  package var kind: ArchiveEntry.Kind
  /// The path as in the archive: without a leading slash.
  package var path: PathBytes
  /// The size in bytes; 0 for an entry without content.
  package var size: UInt64
  package var modified: FileStatus.Time
  package var statusChanged: FileStatus.Time
  package var inode: UInt64
  package var linkCount: UInt64
  /// Permissions with setuid, setgid and sticky bits.
  package var mode: UInt32
  package var owner: UInt32
  package var group: UInt32
  /// The target of a symbolic link.
  package var linkTarget: PathBytes?
  /// The same number for all names of a file in one manifest, and for no other row; nil for a file with one name, for other
  /// kinds, and in manifests of earlier versions.
  package var linkGroup: UInt64?
  /// The name under which the archive contains the content, if that is another name of the file.
  package var firstName: PathBytes?
  /// The SHA-256 of a file's content; nil if its holes are too large to be hashed.
  package var digest: Digest?
  /// The stamp of the snapshot whose archive contains the file.
  package var archive: String
  /// Whether its status cannot reveal later changes: the file changed while it was read, or so shortly before that a later
  /// change could have the same time.
  package var isUnsettled = false

  /// - Parameter status: the status from the walk.
  init(_ status: FileStatus, path: PathBytes, archive: String) {
    kind = ArchiveEntry.Kind(status.kind) ?? .file
    self.path = path
    size = status.kind == .regular ? UInt64(clamping: status.size) : 0
    modified = status.modified
    statusChanged = status.statusChanged
    inode = status.identity.inode
    linkCount = status.linkCount
    mode = status.mode & 0o7777
    owner = status.owner
    group = status.group
    self.archive = archive
  }

  /// Whether a file is the file of this row and has not changed since.
  ///
  /// The device is ignored: its number may change at each start of the machine.
  func isUnchanged(_ status: FileStatus) -> Bool {
    !isUnsettled && kind == ArchiveEntry.Kind(status.kind) && modified == status.modified
      && statusChanged == status.statusChanged && inode == status.identity.inode
      && linkCount == status.linkCount && mode == status.mode & 0o7777 && owner == status.owner
      && group == status.group && (kind != .file || size == UInt64(clamping: status.size))
  }
}

extension ArchiveEntry.Kind {
  /// The kind with this name in a row.
  init?(word: String) {
    guard let kind = Self.allCases.first(where: { $0.word == word }), kind != .hardLink else { return nil }
    self = kind
  }
}

// MARK: JSON

extension SnapshotEntry {
  /// Appends the row as a line of JSON.
  func appendLine(to line: inout [UInt8]) {
    line.append(literal: "{\"type\":\"")
    line += kind.word.utf8
    line.append(literal: "\",")
    JSONText.append(path: path, to: &line)
    line.append(literal: ",\"size\":")
    JSONText.append(size, to: &line)
    line.append(literal: ",\"mtime\":")
    Self.append(modified, to: &line)
    line.append(literal: ",\"ctime\":")
    Self.append(statusChanged, to: &line)
    line.append(literal: ",\"inode\":")
    JSONText.append(inode, to: &line)
    line.append(literal: ",\"links\":")
    JSONText.append(linkCount, to: &line)
    line.append(literal: ",\"mode\":")
    JSONText.append(UInt64(mode), to: &line)
    line.append(literal: ",\"uid\":")
    JSONText.append(UInt64(owner), to: &line)
    line.append(literal: ",\"gid\":")
    JSONText.append(UInt64(group), to: &line)
    if let linkTarget {
      line.append(UInt8(ascii: ","))
      JSONText.append(bytes: linkTarget.bytes, key: "target", to: &line)
    }
    if let linkGroup {
      line.append(literal: ",\"link_group\":")
      JSONText.append(linkGroup, to: &line)
    }
    if let firstName {
      line.append(UInt8(ascii: ","))
      JSONText.append(bytes: firstName.bytes, key: "first_name", to: &line)
    }
    if let digest {
      line.append(literal: ",\"sha256\":\"")
      digest.appendHex(to: &line)
      line.append(UInt8(ascii: "\""))
    }
    line.append(literal: ",\"archive\":\"")
    line += archive.utf8
    line.append(UInt8(ascii: "\""))
    if isUnsettled { line.append(literal: ",\"unsettled\":true") }
    line.append(literal: "}\n")
  }

  /// A time as a string of seconds and nine digits after the point.
  static func append(_ time: FileStatus.Time, to line: inout [UInt8]) {
    line.append(UInt8(ascii: "\""))
    var (seconds, nanoseconds) = (time.seconds, time.nanoseconds)
    if seconds < 0, nanoseconds > 0 {
      line.append(UInt8(ascii: "-"))
      seconds = -(seconds + 1)
      nanoseconds = 1_000_000_000 - nanoseconds
    }
    if seconds < 0 { line.append(UInt8(ascii: "-")) }
    JSONText.append(seconds.magnitude, to: &line)
    let point = line.count
    // Adding a billion gives exactly nine digits after the first one.
    JSONText.append(1_000_000_000 + UInt64(nanoseconds.magnitude), to: &line)
    line[point] = UInt8(ascii: ".")
    line.append(UInt8(ascii: "\""))
  }

  init(kind: ArchiveEntry.Kind, path: PathBytes, archive: String) {
    self.kind = kind
    self.path = path
    self.archive = archive
    (size, inode, linkCount, mode, owner, group) = (0, 0, 0, 0, 0, 0)
    modified = FileStatus.Time(seconds: 0, nanoseconds: 0)
    statusChanged = modified
  }

  /// - Throws: `malformed` for anything but a row.
  init(_ line: SnapshotLine) throws(BatchError) {
    guard let kind = line.text("type").flatMap(ArchiveEntry.Kind.init(word:)),
      let path = try line.path("path"),
      let modified = line.time("mtime"), let changed = line.time("ctime"), let archive = line.text("archive")
    else { throw SnapshotLine.malformed }
    self.kind = kind
    self.path = path
    // Both come from a file system: some use all 64 bits for inodes, and a file with holes may have any size.
    size = try line.number("size", below: .max)
    inode = try line.number("inode", below: .max)
    self.modified = modified
    statusChanged = changed
    linkCount = try line.number("links")
    mode = UInt32(try line.number("mode", below: 0o10000))
    owner = UInt32(try line.number("uid", below: 1 << 32))
    group = UInt32(try line.number("gid", below: 1 << 32))
    linkTarget = try line.path("target")
    linkGroup = line.has("link_group") ? try line.number("link_group") : nil
    firstName = try line.path("first_name")
    digest = line.text("sha256").flatMap { Digest(.sha256, hex: Array($0.utf8)[...]) }
    self.archive = archive
    isUnsettled = line.isTrue("unsettled")
    guard !path.isEmpty, LocalTime.seconds(ofStamp: archive.utf8) != nil,
      kind == .file || (digest == nil && linkGroup == nil)
    else { throw SnapshotLine.malformed }
  }
}
