import BatchEngine
import BatchOutputs

extension RecordedPath {
  /// The record of a member in an index.
  ///
  /// - Parameter entry: nil for a damaged member, of which only the index entry is known.
  init(_ member: ArchivedMember, _ entry: ArchiveEntry?) {
    self.init(member.path, member.kind, size: member.size, modified: member.modified)
    digest = member.digest
    guard let entry else { return }
    describe(entry)
    attributes = entry.attributes
    setOwner(of: entry)
  }

  /// The record of a member of an archive without an index.
  init(_ entry: ArchiveEntry, _ digest: Digest?, hasOwner: Bool) {
    self.init(entry.path, entry.kind, size: entry.size, modified: entry.modified)
    self.digest = digest
    isTimeExact = false
    describe(entry)
    if !entry.hasMode { mode = nil }
    if entry.sharesContent {
      // The content is compared at the name that has it.
      size = entry.hasOwnContent ? entry.size : nil
      if entry.kind == .hardLink, digest != nil { (isHardLink, firstName) = (false, entry.linkTarget) }
    }
    // A stock archive does not state whether attributes were archived.
    if !entry.attributes.isEmpty { attributes = entry.attributes }
    if hasOwner { setOwner(of: entry) }
  }

  private init(_ path: PathBytes, _ kind: ArchiveEntry.Kind, size: UInt64, modified: FileStatus.Time) {
    self.init(path, kind.fileKind)
    isHardLink = kind == .hardLink
    if kind == .file { self.size = size }
    self.modified = modified
  }

  private mutating func describe(_ entry: ArchiveEntry) {
    mode = entry.mode
    linkTarget = entry.linkTarget
    if entry.kind == .characterDevice || entry.kind == .blockDevice {
      device = DeviceNumber(major: entry.deviceMajor, minor: entry.deviceMinor)
    }
  }

  private mutating func setOwner(of entry: ArchiveEntry) {
    if entry.owner != .max { owner = Owner(number: entry.owner, name: entry.ownerName) }
    if entry.group != .max { group = Owner(number: entry.group, name: entry.groupName) }
  }
}
