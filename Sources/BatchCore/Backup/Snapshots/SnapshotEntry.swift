import BatchEngine

/// One row of a backup manifest: the state of a path in a snapshot, and the archive that contains its content.
package struct SnapshotEntry: Sendable, Hashable {
  /// Never ``ArchiveEntry/Kind/hardLink``: each name of a file has its own row.
  package var kind: ArchiveEntry.Kind
  /// The path as in the archive: without a leading slash.
  package var path: PathBytes
  /// The size in bytes; 0 for an entry without content.
  package var size: UInt64 = 0
  package var modified = FileStatus.Time(seconds: 0, nanoseconds: 0)
  package var statusChanged = FileStatus.Time(seconds: 0, nanoseconds: 0)
  package var inode: UInt64 = 0
  package var linkCount: UInt64 = 0
  /// Permissions with setuid, setgid and sticky bits.
  package var mode: UInt32 = 0
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  /// The name of the owner, empty if it has none; nil if the metadata are those of the member in the archive.
  package var userName: PathBytes?
  /// The name of the group; nil together with ``userName``.
  package var groupName: PathBytes?
  package var linkTarget: PathBytes?
  /// The same number for all names of a file in one manifest, and for no other row; nil for a file with one name, for other
  /// kinds, and in manifests of earlier versions.
  package var linkGroup: UInt64?
  /// The name under which the archive contains the content, if that is another name of the file.
  package var firstName: PathBytes?
  /// The SHA-256 of a file's content; nil if its holes are too large to be hashed.
  package var digest: Digest?
  /// A digest of the extended attributes and access control lists; nil if it has none, and in manifests of schema 1.
  package var attributes: Digest?
  /// The stamp of the snapshot whose archive contains the file.
  package var archive: String
  /// The member of the archive that has the content, if a reference to earlier content has another path.
  package var member: PathBytes?
  /// For a file of which the member has the changed blocks alone: the members with the others, as ``bases`` writes them.
  package internal(set) var baseList: PathBytes?
  /// Whether its status cannot reveal later changes: the file changed while it was read, or so shortly before that a later
  /// change could have the same time.
  package var isUnsettled = false
}

extension SnapshotEntry {
  /// - Parameter status: the status from the walk.
  init(_ status: FileStatus, path: PathBytes, archive: String) {
    self.init(
      kind: ArchiveEntry.Kind(status.kind) ?? .file, path: path,
      size: status.kind == .regular ? UInt64(clamping: status.size) : 0, modified: status.modified,
      statusChanged: status.statusChanged, inode: status.identity.inode, linkCount: status.linkCount,
      mode: status.mode & 0o7777, owner: status.owner, group: status.group, archive: archive)
  }

  /// Whether the row refers to content whose member has other metadata. A restore then takes the metadata from the row.
  var isReference: Bool { userName != nil }

  /// The name under which the archive contains the content.
  package var contentName: PathBytes { member ?? firstName ?? path }

  /// A member of an archive.
  package struct Place: Sendable, Hashable {
    /// The stamp of the snapshot of the archive.
    package let archive: String
    package let member: PathBytes
  }

  /// A path has no empty names.
  private static let baseSeparator = Array("//".utf8)
  private static let stampSize = 16
  /// The most members that a file needs.
  static let mostPlaces = 64

  /// The members with the content of a file that changed in part, from the newest to the oldest, which has the whole file of that
  /// time; each block is in the newest member that has it. Empty for a file whose content is in one member.
  package var bases: [Place] {
    get {
      guard let list = baseList?.bytes else { return [] }
      return list.split(separator: Self.baseSeparator).compactMap { text in
        guard text.count > Self.stampSize + 1, text[text.startIndex + Self.stampSize] == UInt8(ascii: "/")
        else {
          return nil
        }
        return Place(
          archive: String(decoding: text.prefix(Self.stampSize), as: UTF8.self),
          member: PathBytes(text.dropFirst(Self.stampSize + 1)))
      }
    }
    set {
      let texts = newValue.map { Array($0.archive.utf8) + [UInt8(ascii: "/")] + $0.member.bytes }
      baseList = texts.isEmpty ? nil : PathBytes(Array(texts.joined(separator: Self.baseSeparator)))
    }
  }

  /// Whether the list of bases is one that this program writes: none is named twice, and none is the member of the row itself.
  var hasValidBases: Bool {
    guard let list = baseList?.bytes else { return true }
    let found = bases
    let all = [place] + found
    return isReference
      && found.count == list.split(separator: Self.baseSeparator, omittingEmptySubsequences: false).count
      && all.count <= Self.mostPlaces && Set(all).count == all.count
      && found.allSatisfy {
        LocalTime.seconds(ofStamp: $0.archive.utf8) != nil && (try? RelativePath($0.member)) != nil
      }
  }

  /// The member with the content, or with its newest blocks.
  package var place: Place { Place(archive: archive, member: contentName) }

  /// All members that the content needs.
  package var places: [Place] { baseList == nil ? [place] : [place] + bases }

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
