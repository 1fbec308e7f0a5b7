/// What identifies a content within one run of the tests: its bytes in their order, and how many they are.
struct Checksum: CustomStringConvertible {
  private var hasher = Hasher()
  private(set) var count = 0

  init() {}

  init(of bytes: [UInt8]) {
    bytes.withUnsafeBytes { add($0) }
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    hasher.combine(bytes: bytes)
    count += bytes.count
  }

  var description: String {
    let copy = hasher
    return "\(count):\(copy.finalize())"
  }
}
