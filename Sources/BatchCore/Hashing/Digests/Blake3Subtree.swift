import CBlake3

/// Computes chaining values of whole subtrees of equal size, on one thread at a time.
///
/// BLAKE3 is a binary tree over chunks of 1,024 bytes (its specification, section 2.1), so a subtree only needs its bytes and
/// the number of its first chunk.
final class Blake3Subtree {
  private static let chunk = Int(BLAKE3_CHUNK_LEN)
  private static let value = Int(BLAKE3_OUT_LEN)
  private static let (chunkStart, chunkEnd, parent): (UInt8, UInt8, UInt8) = (1 << 0, 1 << 1, 1 << 2)
  /// The first words of the fractional parts of square roots, as in SHA-2.
  private static let key: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]

  /// The size of a subtree, a power of two.
  let byteCount: Int
  private var inputs: [UnsafePointer<UInt8>?]
  private let values: UnsafeMutableBufferPointer<UInt8>
  private let parents: UnsafeMutableBufferPointer<UInt8>

  /// - Parameter byteCount: the size of a subtree; a power of two chunks.
  init(byteCount: Int) {
    precondition(byteCount >= Self.chunk && byteCount.nonzeroBitCount == 1, "subtrees are powers of two")
    self.byteCount = byteCount
    let chunks = byteCount / Self.chunk
    inputs = Array(repeating: nil, count: chunks)
    values = .allocate(capacity: chunks * Self.value)
    parents = .allocate(capacity: max(1, chunks / 2) * Self.value)
  }

  deinit {
    values.deallocate()
    parents.deallocate()
  }

  /// - Parameters:
  ///   - bytes: ``byteCount`` of them.
  ///   - offset: the offset of the first byte in the file; a multiple of ``byteCount``.
  ///   - output: room for 32 bytes.
  func compute(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, into output: UnsafeMutableRawBufferPointer
  ) {
    let raw = bytes.bindMemory(to: UInt8.self)
    var count = byteCount / Self.chunk
    for index in 0..<count { inputs[index] = raw.baseAddress.map { $0 + index * Self.chunk } }
    blake3_hash_many(
      &inputs, count, Self.chunk / Int(BLAKE3_BLOCK_LEN), Self.key, offset / UInt64(Self.chunk), true, 0,
      Self.chunkStart, Self.chunkEnd, values.baseAddress)
    var (children, results) = (values, parents)
    while count > 1 {
      count /= 2
      for index in 0..<count {
        inputs[index] = children.baseAddress.map { UnsafePointer($0 + index * 2 * Self.value) }
      }
      blake3_hash_many(&inputs, count, 1, Self.key, 0, false, Self.parent, 0, 0, results.baseAddress)
      swap(&children, &results)
    }
    output.copyBytes(from: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: children[..<Self.value])))
  }
}
