import CLinux
import Glibc

/// The access control list of a file, in the format of the kernel: `system.posix_acl_access`, `acl(5)`.
package struct AccessList {
  package static let accessName = Array("system.posix_acl_access".utf8)
  package static let defaultName = Array("system.posix_acl_default".utf8)

  /// What one user or group may do.
  package struct Line: Sendable {
    /// One of the kernel's numbers below.
    package let tag: UInt16
    /// The bits of read, write and execute.
    package let rights: UInt32
    /// The named user or group; `UInt32.max` for other entries.
    package let id: UInt32

    package init(tag: UInt16, rights: UInt32, id: UInt32) {
      self.tag = tag
      self.rights = rights
      self.id = id
    }
  }

  package static let owner: UInt16 = 0x01
  package static let user: UInt16 = 0x02
  package static let owningGroup: UInt16 = 0x04
  package static let group: UInt16 = 0x08
  package static let mask: UInt16 = 0x10
  package static let others: UInt16 = 0x20

  package let lines: [Line]

  package init(_ lines: [Line]) {
    self.lines = lines
  }

  /// Nil for bytes that are not a list of version 2.
  package init?(_ bytes: [UInt8]) {
    guard bytes.starts(with: [2, 0, 0, 0]), bytes.count % 8 == 4 else { return nil }
    lines = stride(from: 4, to: bytes.count, by: 8).map { (place: Int) -> Line in
      let tag = UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8
      var id: UInt32 = 0
      for byte in bytes[(place + 4)..<(place + 8)].reversed() { id = id << 8 | UInt32(byte) }
      return Line(tag: tag, rights: UInt32(bytes[place + 2]) & 7, id: id)
    }
  }

  /// The rights of the mask, which appear as the group bits in the mode of a file; nil without a mask.
  package var maskRights: UInt32? { lines.first { $0.tag == Self.mask }?.rights }

  /// The rights in the entry of the owning group; none if the bytes are no list.
  package static func groupRights(of list: [UInt8]) -> UInt32 {
    AccessList(list)?.lines.first { $0.tag == owningGroup }?.rights ?? 0
  }

  /// The permissions for a file that loses its list: no user gets more rights than with the list.
  ///
  /// With a list, the group bits of a mode are its mask. Without it, the owning group gets the rights of its own entry; group
  /// and others lose rights that an entry denies to one of their members.
  ///
  /// - Parameter mode: of the file with its list.
  func permissionsWithoutIt(_ mode: UInt32) -> UInt32 {
    let mask = maskRights ?? 7
    var groupRights = lines.first { $0.tag == Self.owningGroup }?.rights ?? 0
    groupRights &= mask & mode >> 3
    var otherRights = mode & 7
    for entry in lines where entry.tag == Self.user || entry.tag == Self.group {
      otherRights &= entry.rights & mask
      // A user who is in the owning group and in a named one has the rights of both.
      if entry.tag == Self.user { groupRights &= entry.rights & mask }
    }
    return mode & 0o700 | groupRights << 3 | otherRights
  }

  /// Removes a list from an open file or folder.
  ///
  /// - Parameter name: ``accessName`` or ``defaultName``.
  /// - Returns: whether there was a list; and 0 or the error number.
  package static func remove(
    _ name: [UInt8], from descriptor: Int32, _ calls: any FileSystemCalls
  ) -> (isRemoved: Bool, failed: Int32) {
    // The kernel reports no error if there is no list to remove.
    let failed = PathBytes(name).withCString { clinux_fgetxattr(descriptor, $0, nil, 0) >= 0 ? 0 : errno }
    guard failed == 0 else { return (false, [ENODATA, ENOTSUP].contains(failed) ? 0 : failed) }
    let refused = -calls.removeAttribute(name, of: descriptor)
    return (refused == 0, refused)
  }

  /// The permissions for a file whose list cannot be stored.
  ///
  /// - Parameter list: nil if there is none.
  package static func permissions(_ mode: UInt32, without list: [UInt8]?) -> UInt32 {
    guard let list else { return mode & 0o777 }
    return AccessList(list)?.permissionsWithoutIt(mode) ?? mode & 0o700
  }
}
