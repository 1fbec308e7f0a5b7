import BatchEngine
import CLZMA

/// Files of `lzma`, the predecessor of .xz: one stream without a magic number and without a checksum.
final class LZMAFrameDecoder: FrameDecoder {
  let startLength = LZMAFrameDecoder.headerLength
  let padding = FramePadding.none
  let isAlone = true
  let checkGap: CheckGap? = .noChecksum
  /// Properties, size of the dictionary, size of the content.
  static let headerLength = 13

  private let memoryLimit: UInt64
  // Kept, because liblzma reuses the memory of the previous stream.
  private var stream = lzma_stream()

  init(memoryLimit: UInt64) {
    self.memoryLimit = memoryLimit
  }

  deinit {
    lzma_end(&stream)
  }

  func canStart(with bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { Self.isPlausible($0) }
  }

  func begin() throws(FrameFailure) {
    guard lzma_alone_decoder(&stream, memoryLimit) == LZMA_OK else { throw .failed(.noCodecMemory) }
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    try stream.step(input, into: output, memoryLimit: memoryLimit)
  }

  /// Whether a file may begin with these bytes, as `xz` judges it: properties below 225, a dictionary of 2^n or
  /// 2^n + 2^(n-1) bytes, and content of less than 256 GiB or of an unknown size.
  static func isPlausible(_ start: UnsafeRawBufferPointer) -> Bool {
    guard let properties = start.first, properties < 9 * 5 * 5 else { return false }
    if start.count >= 5 {
      let size = start.loadUnaligned(fromByteOffset: 1, as: UInt32.self).littleEndian
      guard size > 0 else { return false }
      let rest = size ^ (1 << (31 - size.leadingZeroBitCount))
      guard size == .max || rest == 0 || rest == size / 3 && size % 3 == 0 else { return false }
    }
    if start.count >= headerLength {
      let size = start.loadUnaligned(fromByteOffset: 5, as: UInt64.self).littleEndian
      guard size == .max || size < 1 << 38 else { return false }
    }
    return true
  }
}
