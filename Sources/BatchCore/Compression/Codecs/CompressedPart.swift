import BatchEngine

/// Fills the buffer from an offset of a compressed file; the count is smaller only at its end.
package typealias PartReader =
  (_ offset: UInt64, _ buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int

/// All parts of a compressed file, in order.
package struct CompressedParts: Sendable, Hashable {
  package let parts: [CompressedPart]
  /// gzip: the CRC-32 of the whole content, because its parts have none.
  var check: UInt32?
}

/// A range of a compressed file that can be decoded without the ranges before it.
package struct CompressedPart: Sendable, Hashable {
  /// The range in the compressed file.
  package let compressed: Range<UInt64>
  /// The range of its content in the decompressed file.
  package let plain: Range<UInt64>
  /// xz: the number of the check of the stream's blocks.
  var check: UInt32 = 0

  /// Computed here, because the count of a range is an `Int`: sizes from a file may not fit.
  var compressedSize: UInt64 { compressed.upperBound - compressed.lowerBound }
  var plainSize: UInt64 { plain.upperBound - plain.lowerBound }

  /// Both parts as one, if the other follows directly.
  func joined(with next: CompressedPart) -> CompressedPart? {
    guard next.compressed.lowerBound == compressed.upperBound, next.plain.lowerBound == plain.upperBound,
      next.check == check
    else { return nil }
    return CompressedPart(
      compressed: compressed.lowerBound..<next.compressed.upperBound,
      plain: plain.lowerBound..<next.plain.upperBound, check: check)
  }
}
