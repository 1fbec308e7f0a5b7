import BatchEngine

/// The description of one member in an archive, in types that depend neither on the format nor on the platform.
package struct ArchiveEntry: Sendable, Hashable {
  /// The kind of a member.
  package enum Kind: UInt8, Sendable, CaseIterable {
    case file, directory, symbolicLink, hardLink, fifo, characterDevice, blockDevice
  }

  /// The path in the archive, any bytes; without a final slash.
  package var path: PathBytes
  package var kind: Kind
  /// Bytes of content, holes included; 0 for a member without content.
  package var size: UInt64
  /// The 12 permission bits.
  package var mode: UInt32
  /// `UInt32.max` if the archive has no owner or an impossible one.
  package var owner: UInt32
  package var group: UInt32
  /// Empty if the archive has only numbers.
  package var ownerName: [UInt8]
  package var groupName: [UInt8]
  package var modified: FileStatus.Time
  /// False if the time in the archive is not a number, or is out of range.
  package var hasTime = true
  /// The target of a symbolic link, or the first name of a hard link.
  package var linkTarget: PathBytes?
  package var deviceMajor: UInt32
  package var deviceMinor: UInt32
  /// Includes POSIX access control lists, in the format of the kernel, and capabilities.
  package var attributes: [ExtendedAttribute]
  /// The data ranges of a sparse file; nil if it is not sparse.
  package var dataMap: [Range<UInt64>]?

  package init(
    path: PathBytes, kind: Kind, size: UInt64 = 0, mode: UInt32 = 0o644, owner: UInt32 = 0, group: UInt32 = 0,
    ownerName: [UInt8] = [], groupName: [UInt8] = [],
    modified: FileStatus.Time = FileStatus.Time(seconds: 0, nanoseconds: 0), linkTarget: PathBytes? = nil,
    deviceMajor: UInt32 = 0, deviceMinor: UInt32 = 0, attributes: [ExtendedAttribute] = [],
    dataMap: [Range<UInt64>]? = nil
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.mode = mode
    self.owner = owner
    self.group = group
    self.ownerName = ownerName
    self.groupName = groupName
    self.modified = modified
    self.linkTarget = linkTarget
    self.deviceMajor = deviceMajor
    self.deviceMinor = deviceMinor
    self.attributes = attributes
    self.dataMap = dataMap
  }
}
