import BatchEngine
import CLZ4

/// lz4 and skippable frames.
final class LZ4FrameDecoder: FrameDecoder {
  let startLength = 4
  let padding = FramePadding.none
  private let context: OpaquePointer
  private var start = FrameStart()

  init() throws(BatchError) {
    var context: OpaquePointer?
    LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION))
    guard let context else { throw .noCodecMemory }
    self.context = context
  }

  deinit {
    LZ4F_freeDecompressionContext(context)
  }

  func canStart(with bytes: [UInt8]) -> Bool {
    ([0x04, 0x22, 0x4D, 0x18] as [UInt8]).starts(with: bytes) || CompressionFormat.canSkip(bytes)
  }

  var checkGap: CheckGap? {
    guard let flags = start.flags(of: LZ4Codec.magic) else { return nil }
    // A checksum of each block, or of the whole content.
    return flags & 0x14 == 0 ? .noChecksum : nil
  }

  func begin() {
    LZ4F_resetDecompressionContext(context)
    start = FrameStart()
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    var consumed = input.count
    var produced = output.count
    let result = LZ4F_decompress(context, output.baseAddress, &produced, input.baseAddress, &consumed, nil)
    if LZ4F_isError(result) != 0 {
      // The error numbers are not part of the stable interface, but the names are.
      switch LZ4F_getErrorName(result).map({ String(cString: $0) }) {
      case "ERROR_contentChecksum_invalid", "ERROR_blockChecksum_invalid", "ERROR_headerChecksum_invalid",
        "ERROR_frameSize_wrong":
        throw .checksum
      case "ERROR_allocation_failed": throw .failed(.noCodecMemory)
      default: throw .corrupt
      }
    }
    start.pass(UnsafeRawBufferPointer(rebasing: input.prefix(consumed)))
    return FrameStep(consumed: consumed, produced: produced, isEnd: result == 0)
  }
}
