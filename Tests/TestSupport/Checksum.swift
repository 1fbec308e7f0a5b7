/// What identifies a content within one run of the tests: its bytes in their order, and how many they are.
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
