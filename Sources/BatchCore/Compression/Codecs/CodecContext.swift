import BatchEngine

/// A compressor of one format at one level with its working memory, kept from file to file.
///
/// One thread at a time uses it: each lane has its own. Its output depends only on the bytes, never on earlier calls, so that
/// any lane gives the same result.
package protocol CodecContext: AnyObject {
  /// Appends one complete gzip member, zstd frame, xz stream or lz4 frame with the whole content.
  ///
  /// The name and time of the file are not stored. All formats have a checksum of the content: CRC-32 and length for gzip,
  /// length and XXH64 for zstd, CRC-64 for xz, length and XXH32 for lz4.
  /// - Throws: `.exhausted` when memory is missing.
  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError)

  /// One block of a file that many contexts compress together, as a ``BlockPlan`` cuts it.
  ///
  /// - Parameters:
  ///   - bytes: all of the block: ``BlockPlan/blockSize`` bytes, fewer only in the last block.
  ///   - index: the number of the block in its file, from 0.
  /// - Throws: `.exhausted` when memory is missing.
  func compress(block bytes: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock
}

extension CodecContext {
  /// For formats whose frames can follow each other: the block is one frame.
  package func compress(block bytes: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock
  {
    var output: [UInt8] = []
    try compress(wholeFile: bytes, into: &output)
    return CompressedBlock(index: index, bytes: output, plainCount: bytes.count)
  }
}

extension [UInt8] {
  /// Lets a C library write after the last byte, into uninitialized memory.
  ///
  /// - Parameters:
  ///   - capacity: the size of that memory.
  ///   - fill: returns how many bytes it has written.
  mutating func append(
    upTo capacity: Int, _ fill: (UnsafeMutablePointer<UInt8>) throws(BatchError) -> Int
  ) throws(BatchError) {
    try append(addingCapacity: capacity) { (span: inout OutputSpan<UInt8>) throws(BatchError) in
      try span.withUnsafeMutableBufferPointer { (buffer, count) throws(BatchError) in
        guard let base = buffer.baseAddress else { return }
        count = try fill(base)
      }
    }
  }

  mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }
}

extension UnsafeRawBufferPointer {
  /// The little-endian number at an offset from the first byte; the caller has checked the bounds.
  func little<Number: FixedWidthInteger>(at place: Int) -> Number {
    Number(littleEndian: loadUnaligned(fromByteOffset: place, as: Number.self))
  }
}

extension ArraySlice<UInt8> {
  func little<Number: FixedWidthInteger>(at place: Int) -> Number {
    withUnsafeBytes { $0.little(at: place) }
  }
}
