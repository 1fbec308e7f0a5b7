/// One extended attribute of a file, `xattr(7)`.
public struct ExtendedAttribute: Sendable, Hashable {
  /// With its namespace: `user.note`.
  public var name: [UInt8]
  public var value: [UInt8]

  public init(name: [UInt8], value: [UInt8]) {
    self.name = name
    self.value = value
  }
}
