import BatchEngine

/// Determines which rows of a manifest are names of one file.
///
/// Manifests contain a number for each file with several names. Those of version 0.2.0 do not: there rows with the same inode,
/// times, size and content are names of one file, and so are rows whose content is in an archive under the same name.
struct LinkGroups {
  private enum Number: Hashable {
    case group(UInt64)
    case inode(UInt64, modified: FileStatus.Time, changed: FileStatus.Time)
  }

  private struct File: Hashable {
    let kind: ArchiveEntry.Kind
    let number: Number
    // A file that changed during the backup can have two contents under two names.
    let size: UInt64
    let digest: Digest?
  }

  private struct Member: Hashable {
    let archive: String
    let name: PathBytes
  }

  private struct Content: Hashable {
    let inode: UInt64
    let size: UInt64
    let digest: Digest?
  }

  private var files: [File: PathBytes] = [:]
  private var members: [Member: PathBytes] = [:]
  private var contents: Set<Content> = []
  /// How many rows may be further names of earlier files; the manifest does not store it.
  private(set) var doubtful = 0

  /// Whether a row can be one of several names of a file.
  static func mayBelong(_ entry: SnapshotEntry) -> Bool {
    entry.kind == .file && (entry.linkCount > 1 || entry.firstName != nil)
  }

  /// Whether a row can be one of several names of a link, FIFO or device. The archive has each of them as a member, and the manifest
  /// has no number for their names, but they have one inode and equal times.
  static func mayBeNode(_ entry: SnapshotEntry) -> Bool {
    entry.kind != .file && entry.kind != .directory && entry.linkCount > 1
  }

  /// The earliest name of a row's file; nil if this row is the earliest.
  mutating func first(of entry: SnapshotEntry) -> PathBytes? {
    let number: Number =
      entry.linkGroup.map { .group($0) }
      ?? .inode(entry.inode, modified: entry.modified, changed: entry.statusChanged)
    let file = File(kind: entry.kind, number: number, size: entry.size, digest: entry.digest)
    let member = Member(archive: entry.archive, name: entry.contentName)
    // A member with the content of a row with a number may be referred to by other files.
    if let first = files[file] ?? (entry.linkGroup == nil ? members[member] : nil) { return first }
    files[file] = entry.path
    if entry.linkGroup == nil { members[member] = entry.path }
    if entry.linkGroup == nil, entry.kind == .file,
      !contents.insert(Content(inode: entry.inode, size: entry.size, digest: entry.digest)).inserted
    {
      doubtful += 1
    }
    return nil
  }
}
