/// One extended attribute of a file, `xattr(7)`.
package struct ExtendedAttribute: Sendable, Hashable {
  /// With its namespace: `user.note`.
  package var name: [UInt8]
  package var value: [UInt8]

  package init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }

  /// Whether it is an access control list, which may prevent setting other attributes.
  package var isList: Bool { name.starts(with: Self.listNamespace) }

  /// Whether the kernel keeps it for itself, so that it is neither stored nor set. XFS shows an access control list a second time,
  /// as `trusted.SGI_ACL_FILE`; `security.evm` is a checksum of one inode. Tools with `/etc/xattr.conf` also leave these out.
  package var isOfKernel: Bool { Self.isOfKernel(name) }

  static func isOfKernel(_ name: some Sequence<UInt8>) -> Bool {
    ofKernel.contains { name.starts(with: $0) }
  }

  private static let ofKernel = ["trusted.SGI_", "security.evm"].map { Array($0.utf8) }
  private static let listNamespace = Array("system.posix_acl_".utf8)
}

extension [ExtendedAttribute] {
  /// The attributes in an order in which they can be set.
  package var listsLast: [ExtendedAttribute] { filter { !$0.isList } + filter(\.isList) }
}
