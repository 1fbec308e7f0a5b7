import BatchEngine
import CLZMA

/// xz streams.
final class XZFrameDecoder: FrameDecoder {
  let startLength = XZCodec.magic.count
  let padding = FramePadding.fours
  private let memoryLimit: UInt64
  // Kept, because liblzma reuses the memory of the previous stream.
  private var stream = lzma_stream()
  private var layout = XZLayout()

  var checkGap: CheckGap? { CheckGap(xz: layout.check) }

  init(memoryLimit: UInt64) {
    self.memoryLimit = memoryLimit
  }

  deinit {
    lzma_end(&stream)
  }

  func canStart(with bytes: [UInt8]) -> Bool {
    XZCodec.magic.starts(with: bytes)
  }

  func begin() throws(FrameFailure) {
    layout = XZLayout()
    guard lzma_stream_decoder(&stream, memoryLimit, 0) == LZMA_OK else { throw .failed(.noCodecMemory) }
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    do throws(FrameFailure) {
      let step = try stream.step(input, into: output, memoryLimit: memoryLimit)
      layout.pass(UnsafeRawBufferPointer(rebasing: input.prefix(step.consumed)))
      return step
    } catch {
      guard case .corrupt = error else { throw error }
      layout.pass(UnsafeRawBufferPointer(rebasing: input.dropLast(stream.avail_in)))
      throw layout.isBehindCheck ? .checksum : .corrupt
    }
  }
}

extension CheckGap {
  /// nil if liblzma compares this check.
  init?(xz check: lzma_check) {
    guard check == LZMA_CHECK_NONE || lzma_check_is_supported(check) == 0 else { return nil }
    self = .xzCheck(check.rawValue)
  }
}

extension lzma_stream {
  /// One call of `lzma_code`.
  mutating func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, memoryLimit: UInt64
  ) throws(FrameFailure) -> FrameStep {
    next_in = input.bytes
    avail_in = input.count
    next_out = output.bytes
    avail_out = output.count
    let result = lzma_code(&self, LZMA_RUN)
    switch result {
    case LZMA_OK, LZMA_STREAM_END, LZMA_BUF_ERROR: break
    case LZMA_MEM_ERROR: throw .failed(.noCodecMemory)
    case LZMA_MEMLIMIT_ERROR:
      throw .failed(.decoderMemory(limit: memoryLimit))
    case LZMA_OPTIONS_ERROR:
      throw .failed(BatchError(.invalid, "unsupported: the data has features that liblzma does not know"))
    default: throw .corrupt
    }
    return FrameStep(
      consumed: input.count - avail_in, produced: output.count - avail_out, isEnd: result == LZMA_STREAM_END)
  }
}

extension BatchError {
  /// The error of data whose decoder needs more memory than the limit in bytes.
  static func decoderMemory(limit: UInt64) -> BatchError {
    BatchError(
      .exhausted, "the data needs more than \(limit >> 20) MiB of memory to be decoded",
      remedy: limit < DecoderOptions.largestMemory ? .raiseMemory : nil)
  }
}
