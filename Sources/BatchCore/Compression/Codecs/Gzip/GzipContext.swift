import BatchEngine
import CDeflate

/// gzip by libdeflate, which needs the whole input in memory and is two to three times as fast as zlib.
final class GzipContext: CodecContext {
  private let usual: OpaquePointer
  /// A compressor that stores the bytes uncompressed.
  private let storing: OpaquePointer
  private let walker = DeflateWalker()

  init(level: Int) throws(BatchError) {
    guard let usual = libdeflate_alloc_compressor(Self.effort(of: level)) else { throw .noCodecMemory }
    guard let storing = libdeflate_alloc_compressor(0) else {
      libdeflate_free_compressor(usual)
      throw .noCodecMemory
    }
    self.usual = usual
    self.storing = storing
  }

  deinit {
    libdeflate_free_compressor(usual)
    libdeflate_free_compressor(storing)
  }

  /// The libdeflate level for a gzip level.
  ///
  /// Up to 9, a level gives about the size of the same gzip level. At 6 and 7 a lower libdeflate level is enough: its level 5
  /// makes files of the size of `gzip -6` (0.984 to 1.003 of it) in four fifths of the time of its level 6.
  private static func effort(of level: Int) -> Int32 {
    switch level {
    case 6, 7: Int32(level - 1)
    default: Int32(clamping: level)
    }
  }

  /// The compressor that suits the bytes: searching matches in noise takes time and finds none.
  private func compressor(for bytes: UnsafeRawBufferPointer) -> OpaquePointer {
    RandomnessCheck.fills(bytes) ? storing : usual
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    let compressor = compressor(for: wholeFile)
    let bound = libdeflate_gzip_compress_bound(compressor, wholeFile.count)
    try output.append(upTo: bound) { room throws(BatchError) in
      // libdeflate writes no time (0), no name and an unknown system (255).
      let count = libdeflate_gzip_compress(compressor, wholeFile.baseAddress, wholeFile.count, room, bound)
      guard count > 0 else { throw .noCodecMemory }
      return count
    }
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    let compressor = compressor(for: block)
    let bound = libdeflate_deflate_compress_bound(compressor, block.count)
    var bytes: [UInt8] = []
    try bytes.append(upTo: bound + DeflateBits.readAhead) { room throws(BatchError) in
      let count = libdeflate_deflate_compress(compressor, block.baseAddress, block.count, room, bound)
      guard count > 0 else { throw .noCodecMemory }
      return try DeflateSegment.open(room, count: count, walker)
    }
    return CompressedBlock(
      index: index, bytes: bytes, plainCount: block.count,
      check: libdeflate_crc32(0, block.baseAddress, block.count))
  }
}

extension BatchError {
  /// The error of a compressor or decoder without memory.
  static var noCodecMemory: BatchError {
    BatchError(.exhausted, "no memory to compress or decompress", remedy: .lowerConcurrency)
  }
}

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
