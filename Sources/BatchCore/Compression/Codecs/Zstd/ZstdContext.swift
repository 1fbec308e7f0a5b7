import BatchEngine
import CZstd

/// Zstandard frames with content size and checksum.
final class ZstdContext: CodecContext {
  private let level: Int
  /// From this level on, a block takes so long that it is compressed in slices, with a cancellation check between them.
  private static let firstSlowLevel = 6
  private static let sliceSize = 256 << 10

  private let context: OpaquePointer
  private let check: () throws(BatchError) -> Void

  init(level: Int, checking check: @escaping () throws(BatchError) -> Void = {}) throws(BatchError) {
    guard let context = ZSTD_createCCtx() else { throw .noCodecMemory }
    self.level = level
    self.context = context
    self.check = check
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
      if level >= Self.firstSlowLevel { return try compressInSlices(wholeFile, into: room, capacity: bound) }
      let count = ZSTD_compress2(context, room, bound, wholeFile.baseAddress, wholeFile.count)
      guard ZSTD_isError(count) == 0 else { throw .noCodecMemory }
      return count
    }
  }

  private func compressInSlices(
    _ content: UnsafeRawBufferPointer, into room: UnsafeMutablePointer<UInt8>, capacity: Int
  ) throws(BatchError) -> Int {
    // The previous frame may have been abandoned.
    ZSTD_CCtx_reset(context, ZSTD_reset_session_only)
    guard ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, UInt64(content.count))) == 0 else {
      throw .noCodecMemory
    }
    var target = ZSTD_outBuffer(dst: room, size: capacity, pos: 0)
    var rest = content
    while true {
      try check()
      let slice = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.sliceSize))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(slice.count))
      var source = ZSTD_inBuffer(src: slice.baseAddress, size: slice.count, pos: 0)
      let left = ZSTD_compressStream2(context, &target, &source, rest.isEmpty ? ZSTD_e_end : ZSTD_e_continue)
      // All input is consumed, because the buffer is large enough for the worst case.
      guard ZSTD_isError(left) == 0, source.pos == source.size, target.pos < capacity || rest.isEmpty else {
        throw .noCodecMemory
      }
      guard rest.isEmpty else { continue }
      guard left == 0 else { throw .noCodecMemory }
      return target.pos
    }
  }
}
