import BatchEngine

/// What an archive says of one member, in types that depend neither on the format nor on the platform.
package struct ArchiveEntry: Sendable, Hashable {
  /// The kind of a member.
  package enum Kind: UInt8, Sendable, CaseIterable {
    case file, directory, symbolicLink, hardLink, fifo, characterDevice, blockDevice
  }

  /// As it stands in the archive, any bytes; without a slash at its end.
  package var path: PathBytes
  package var kind: Kind
  /// Bytes of content, holes included; 0 for what has none.
  package var size: UInt64 = 0
  /// The 12 permission bits.
  package var mode: UInt32 = 0o644
  /// `UInt32.max` where the archive has no owner or an impossible one.
  package var owner: UInt32 = 0
  package var group: UInt32 = 0
  /// Empty where the archive has only numbers.
  package var ownerName: [UInt8] = []
  package var groupName: [UInt8] = []
  package var modified = FileStatus.Time(seconds: 0, nanoseconds: 0)
  /// False where the time in the archive is not a number, or is out of range.
  package var hasTime = true
  /// What a symbolic link holds, or the member that a hard link is one more name of.
  package var linkTarget: PathBytes?
  package var deviceMajor: UInt32 = 0
  package var deviceMinor: UInt32 = 0
  /// POSIX access control lists are among them, as the kernel's own bytes, and so are capabilities.
  package var attributes: [ExtendedAttribute] = []
  /// Where a sparse file has data; nil when it is not sparse.
  package var dataMap: [Range<UInt64>]?
}
