import CZstd

/// Zstandard frames with content size and checksum.
final class ZstdContext: CodecContext {
  let format = CompressionFormat.zst
  let level: Int
  private let context: OpaquePointer

  init(level: Int) throws(BatchError) {
    guard let context = ZSTD_createCCtx() else { throw .noCodecMemory }
    self.level = level
    self.context = context
    // The content size is on by default and the checksum is not.
    for (parameter, value) in [
      (ZSTD_c_compressionLevel, Int32(level)), (ZSTD_c_checksumFlag, 1), (ZSTD_c_contentSizeFlag, 1),
    ] {
      guard ZSTD_isError(ZSTD_CCtx_setParameter(context, parameter, value)) == 0 else {
        throw BatchError(.invalid, "libzstd refuses level \(level)")
      }
    }
  }

  deinit {
    ZSTD_freeCCtx(context)
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    let bound = ZSTD_compressBound(wholeFile.count)
    try output.append(upTo: bound) { room throws(BatchError) in
      let count = ZSTD_compress2(context, room, bound, wholeFile.baseAddress, wholeFile.count)
      guard ZSTD_isError(count) == 0 else { throw .noCodecMemory }
      return count
    }
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    var bytes: [UInt8] = []
    try compress(wholeFile: block, into: &bytes)
    return CompressedBlock(index: index, bytes: bytes, plainCount: block.count)
  }
}
