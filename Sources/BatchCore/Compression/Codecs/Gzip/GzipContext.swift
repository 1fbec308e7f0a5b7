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
