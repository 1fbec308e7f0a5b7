import BatchEngine
import CLZMA

/// Members of lzip, each with a CRC-32 and the size of its content.
final class LzipFrameDecoder: FrameDecoder {
  let startLength = LzipFrameDecoder.magic.count
  let padding = FramePadding.none
  static let magic = Array("LZIP".utf8)

  private let memoryLimit: UInt64
  // Kept, because liblzma reuses the memory of the previous stream.
  private var stream = lzma_stream()

  init(memoryLimit: UInt64) {
    self.memoryLimit = memoryLimit
  }

  deinit {
    lzma_end(&stream)
  }

  func canStart(with bytes: [UInt8]) -> Bool { Self.magic.starts(with: bytes) }

  func begin() throws(FrameFailure) {
    guard lzma_lzip_decoder(&stream, memoryLimit, 0) == LZMA_OK else { throw .failed(.noCodecMemory) }
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    try stream.step(input, into: output, memoryLimit: memoryLimit)
  }
}
