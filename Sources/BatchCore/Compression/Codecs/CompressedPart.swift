import BatchEngine

/// Fills the buffer from an offset of a compressed file on; returns fewer bytes only at its end.
package typealias PartReader =
  (_ offset: UInt64, _ buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int

/// All parts of a compressed file, in order.
package struct CompressedParts: Sendable, Hashable {
  package let parts: [CompressedPart]
  /// gzip: the CRC-32 of all content, since its parts have none of their own.
  var check: UInt32?
}

/// A range of a compressed file that can be decoded without the ranges before it.
package struct CompressedPart: Sendable, Hashable {
  /// Where it lies in the compressed file.
  package let compressed: Range<UInt64>
  /// Where its content lies in the decompressed file.
  package let plain: Range<UInt64>
  /// xz: the number of the check that the blocks of the stream have.
  var check: UInt32 = 0

  /// Computed here, because the count of a range is an `Int`: sizes from a file may not fit.
  var compressedSize: UInt64 { compressed.upperBound - compressed.lowerBound }
  var plainSize: UInt64 { plain.upperBound - plain.lowerBound }

  /// Both parts as one, when the other follows directly.
  func joined(with next: CompressedPart) -> CompressedPart? {
    guard next.compressed.lowerBound == compressed.upperBound, next.plain.lowerBound == plain.upperBound,
      next.check == check
    else { return nil }
    return CompressedPart(
      compressed: compressed.lowerBound..<next.compressed.upperBound,
      plain: plain.lowerBound..<next.plain.upperBound, check: check)
  }
}
