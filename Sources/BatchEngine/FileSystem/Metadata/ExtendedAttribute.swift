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

  private static let listNamespace = Array("system.posix_acl_".utf8)
}

extension [ExtendedAttribute] {
  /// The attributes in an order in which they can be set.
  package var listsLast: [ExtendedAttribute] { filter { !$0.isList } + filter(\.isList) }
}
