import BatchEngine

extension [ExtendedAttribute] {
  /// The SHA-256 over all attributes in the order of their names: for each one its name, a NUL, the size of its value as a decimal
  /// number, a NUL, and the value. Nil without attributes.
  ///
  /// Access control lists are attributes too, in the format of the kernel.
  func digest() throws(BatchError) -> Digest? {
    guard !isEmpty else { return nil }
    var bytes = [UInt8]()
    for attribute in sorted(by: { $0.name.lexicographicallyPrecedes($1.name) }) {
      bytes += attribute.name
      bytes.append(0)
      bytes += "\(attribute.value.count)".utf8
      bytes.append(0)
      bytes += attribute.value
    }
    return try Digest.sha256(of: bytes)
  }
}
