import BatchEngine

/// Turns a finished DEFLATE stream into a segment that another stream can follow, RFC 1951.
///
/// A gzip member holds one DEFLATE stream, and a stream ends with the block that has its final bit set. To make one member from
/// pieces that were compressed separately, each piece's final bit is cleared; an empty stored block (00 00 FF FF after its
/// header) is appended, which ends at a byte boundary where the next piece can start; and the checksums of the pieces are
/// combined with zlib's `crc32_combine`. An empty final block, `03 00`, ends the member.
///
/// libdeflate does not report where its last block begins, and with Huffman codes it is only found by decoding all blocks
/// before it. ``DeflateWalker`` reads the codes without producing the data: at level 6 that takes 3 % of the time of the
/// compression for prose and 11 % for program files with many short blocks, half of what zlib's `inflate` with `Z_BLOCK` takes
/// (10 and 20 %). zlib's own deflate with a full flush between pieces, as in pigz, needs no search but takes two to three times
/// as long. The joints add at most 5 bytes to each piece; pieces that start without the 32 KiB before them make the file 0.1 to
/// 0.2 % larger at 1 MiB each.
enum DeflateSegment {
  /// - Parameters:
  ///   - stream: a complete DEFLATE stream, followed by ``DeflateBits/readAhead`` free bytes.
  ///   - count: the length of the stream in bytes.
  /// - Returns: the length of the segment that replaced it.
  static func open(
    _ stream: UnsafeMutablePointer<UInt8>, count: Int, _ walker: DeflateWalker
  ) throws(BatchError) -> Int {
    (stream + count).update(repeating: 0, count: DeflateBits.readAhead)
    guard let last = walker.lastBlock(of: UnsafeRawPointer(stream), count: count) else {
      throw BatchError(.malformed, "libdeflate wrote a stream that cannot be followed")
    }
    stream[last.header >> 3] &= ~(1 << UInt8(last.header & 7))
    // Three zero bits, the header of a stored block that is not final, then zeros up to the next byte.
    var end = (last.end + 3 + 7) >> 3
    if last.end & 7 != 0 { stream[last.end >> 3] &= (1 << UInt8(last.end & 7)) - 1 }
    for byte: UInt8 in [0x00, 0x00, 0xFF, 0xFF] {
      stream[end] = byte
      end += 1
    }
    return end
  }
}
