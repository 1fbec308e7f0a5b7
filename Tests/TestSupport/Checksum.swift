/// A hash and the length of a content, to compare contents within one process.
package struct Checksum: CustomStringConvertible {
  private var hasher = Hasher()
  package private(set) var count = 0

  package init() {}

  package init(of bytes: [UInt8]) {
    bytes.withUnsafeBytes { add($0) }
  }

  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    hasher.combine(bytes: bytes)
    count += bytes.count
  }

  package var description: String {
    let copy = hasher
    return "\(count):\(copy.finalize())"
  }
}
