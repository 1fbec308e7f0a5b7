import CDeflate

/// gzip by libdeflate, which needs the whole input in memory and is two to three times as fast as zlib.
final class GzipContext: CodecContext {
  let format = CompressionFormat.gz
  let level: Int
  private let compressor: OpaquePointer
  private let walker = DeflateWalker()

  init(level: Int) throws(BatchError) {
    guard let compressor = libdeflate_alloc_compressor(Int32(level)) else { throw .noCodecMemory }
    self.level = level
    self.compressor = compressor
  }

  deinit {
    libdeflate_free_compressor(compressor)
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    let bound = libdeflate_gzip_compress_bound(compressor, wholeFile.count)
    try output.append(upTo: bound) { room throws(BatchError) in
      // libdeflate writes no time (0), no name and an unknown system (255).
      let count = libdeflate_gzip_compress(compressor, wholeFile.baseAddress, wholeFile.count, room, bound)
      guard count > 0 else { throw .noCodecMemory }
      return count
    }
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    let bound = libdeflate_deflate_compress_bound(compressor, block.count)
    var bytes: [UInt8] = []
    try bytes.append(upTo: bound + DeflateSegment.slack) { room throws(BatchError) in
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
  /// A compressor or decoder that got no memory.
  static var noCodecMemory: BatchError {
    BatchError(.exhausted, "no memory to compress or decompress", remedy: "lower --max-concurrency")
  }
}
