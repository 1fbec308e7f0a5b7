import BatchEngine
import CZstd

/// Zstandard and skippable frames.
final class ZstdFrameDecoder: FrameDecoder {
  let startLength = 4
  let padding = FramePadding.none
  private let context: OpaquePointer
  private let windowLog: Int
  private var start = FrameStart()
  private var check = ZstdFrameCheck()

  /// - Throws: `.invalid` for a window that libzstd does not support.
  init(windowLog: Int) throws(BatchError) {
    guard let context = ZSTD_createDCtx() else { throw .noCodecMemory }
    self.context = context
    self.windowLog = windowLog
    let result = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Int32(clamping: windowLog))
    guard ZSTD_isError(result) == 0 else {
      throw BatchError(
        .invalid, "a window of 2^\(windowLog) bytes is not one of zstd's", remedy: "use 10 to 31")
    }
  }

  deinit {
    ZSTD_freeDCtx(context)
  }

  func canStart(with bytes: [UInt8]) -> Bool {
    ([0x28, 0xB5, 0x2F, 0xFD] as [UInt8]).starts(with: bytes) || CompressionFormat.canSkip(bytes)
  }

  var checkGap: CheckGap? {
    guard let flags = start.flags(of: ZstdCodec.magic) else { return nil }
    return flags & 0x04 == 0 ? .noChecksum : nil
  }

  func begin() {
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only)
    start = FrameStart()
    check = ZstdFrameCheck()
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    let result = ZSTD_decompressStream(context, &target, &source)
    switch ZSTD_getErrorCode(result) {
    case ZSTD_error_no_error: break
    case ZSTD_error_checksum_wrong: throw .checksum
    case ZSTD_error_memory_allocation: throw .failed(.noCodecMemory)
    case ZSTD_error_frameParameter_windowTooLarge:
      throw windowIsTooLarge
    case ZSTD_error_dictionary_wrong:
      throw .failed(BatchError(.invalid, "the zstd frame needs the dictionary that it was made with"))
    default: throw .corrupt
    }
    let consumed = UnsafeRawBufferPointer(rebasing: input.prefix(source.pos))
    start.pass(consumed)
    let isValid = check.pass(consumed, produced: target.pos)
    // libzstd needs no window, and does not look at the limit, if the input happens to end after the frame.
    if let header = check.header, header.window > UInt64(1) << UInt64(windowLog) { throw windowIsTooLarge }
    guard isValid, result != 0 || check.hasContentSize else {
      throw .corrupt
    }
    return FrameStep(consumed: source.pos, produced: target.pos, isEnd: result == 0)
  }

  private var windowIsTooLarge: FrameFailure {
    .failed(
      BatchError(
        .exhausted, "the zstd frame needs a window of more than 2^\(windowLog) bytes",
        remedy: windowLog < DecoderOptions.largestWindowLog ? .raiseMemory : nil))
  }

  func decode(wholeFrame: UnsafeRawBufferPointer, room: (Int) -> UnsafeMutableRawBufferPointer?) -> Int? {
    var check = ZstdFrameCheck()
    // The two largest values mean that the size is unknown, or that this is not a frame.
    guard let size = Int(exactly: ZSTD_getFrameContentSize(wholeFrame.baseAddress, wholeFrame.count)),
      ZSTD_findFrameCompressedSize(wholeFrame.baseAddress, wholeFrame.count) == wholeFrame.count,
      check.pass(wholeFrame, produced: size), let room = room(size)
    else { return nil }
    let count = ZSTD_decompressDCtx(
      context, room.baseAddress, size, wholeFrame.baseAddress, wholeFrame.count)
    start = FrameStart()
    start.pass(UnsafeRawBufferPointer(rebasing: wholeFrame.prefix(5)))
    return ZSTD_isError(count) == 0 ? count : nil
  }
}
