import BatchEngine
import CLZMA

/// The formats with one header and LZMA data.
final class LZMAFrameDecoder: FrameDecoder {
  enum Format {
    /// A file of `lzma`, the predecessor of .xz: one stream without a magic number and without a checksum.
    case alone
    /// A member of lzip, with a CRC-32 and the size of its content.
    case lzip
  }

  static let lzipMagic = Array("LZIP".utf8)
  /// A file of `lzma`: properties, size of the dictionary, size of the content.
  static let headerLength = 13

  let padding = FramePadding.none
  private let format: Format
  private let memoryLimit: UInt64
  // Kept, because liblzma reuses the memory of the previous stream.
  private var stream = lzma_stream()

  init(_ format: Format, memoryLimit: UInt64) {
    self.format = format
    self.memoryLimit = memoryLimit
  }

  deinit {
    lzma_end(&stream)
  }

  var startLength: Int { isAlone ? Self.headerLength : Self.lzipMagic.count }
  var isAlone: Bool { format == .alone }
  var checkGap: CheckGap? { isAlone ? .noChecksum : nil }

  func canStart(with bytes: [UInt8]) -> Bool {
    isAlone ? bytes.withUnsafeBytes { Self.isPlausible($0) } : Self.lzipMagic.starts(with: bytes)
  }

  func begin() throws(FrameFailure) {
    let result =
      isAlone ? lzma_alone_decoder(&stream, memoryLimit) : lzma_lzip_decoder(&stream, memoryLimit, 0)
    guard result == LZMA_OK else { throw .failed(.noCodecMemory) }
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    try stream.step(input, into: output, memoryLimit: memoryLimit)
  }

  /// Whether a file of `lzma` may begin with these bytes, as `xz` judges it: properties below 225, a dictionary of 2^n or
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
