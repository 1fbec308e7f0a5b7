import BatchEngine
import CLZMA

/// The .xz file format 1.1.0.
enum XZCodec: CodecDescriptor {
  static let toolName = "xz"
  static let tarSuffixes = ["txz"]
  static var libraries: [(name: String, version: String)] {
    [("liblzma", lzma_version_string().map { String(cString: $0) } ?? "unknown")]
  }

  static let magic: [UInt8] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool { start.starts(with: magic) }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder {
    XZFrameDecoder(memoryLimit: options.memoryLimit)
  }
  static func checksFact(start: UnsafeRawBufferPointer) -> String { "compared the checks of xz" }
  static func parts(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts? {
    try XZIndexReader(size: size).parts(read).map { CompressedParts(parts: $0) }
  }
  static func makeDecoder(of part: CompressedPart, _ options: DecoderOptions) -> any FrameDecoder {
    XZBlockDecoder(check: part.check, memoryLimit: options.memoryLimit)
  }

  static let use = CodecUse.files
  static let levels = 0...9
  static let defaultLevel = 6
  /// Three dictionaries, as in `xz -T`.
  static func blockSize(level: Int) -> Int { max(4 << 20, 3 * XZContext.dictionarySize(level: level)) }
  static func contextMemory(level: Int) -> Int {
    Int(clamping: lzma_easy_encoder_memusage(UInt32(clamping: level)))
  }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) -> any CodecContext { XZContext(level: level, checking: check) }
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) throws(BatchError) -> any BlockFraming { try XZFraming() }

  static let index: IndexForm? = .lastStream
  /// xz has a larger window than other formats, so it loses more at the start of a frame.
  static let segmentSize: Int64 = 16 << 20
  /// A CRC-64, the list of blocks, and the footer, which contains the size of that list.
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int {
    let footer = 12
    guard frame.count >= footer else { return 0 }
    let words = frame.loadUnaligned(fromByteOffset: frame.count - footer + 4, as: UInt32.self).littleEndian
    return 8 + (words < 16 ? Int(words) + 1 : 1) * 4 + footer
  }
}

/// Members of lzip.
enum LzipCodec: CodecDescriptor {
  static let toolName = "lzip"
  static let tarSuffixes = ["tlz"]

  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
    start.starts(with: LZMAFrameDecoder.lzipMagic)
  }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder {
    LZMAFrameDecoder(.lzip, memoryLimit: options.memoryLimit)
  }
  static let garbage = TrailingGarbage.remark
  static func checksFact(start: UnsafeRawBufferPointer) -> String {
    "compared the CRC-32 and sizes of lzip"
  }
}

/// Files of `lzma`, the predecessor of .xz, which have no magic number.
enum LZMACodec: CodecDescriptor {
  static let toolName = "lzma"

  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool { false }
  /// Decides by suffix and header; for standard input by the header and the first byte of the data, which is always 0.
  static func recognizes(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> Bool {
    let header = LZMAFrameDecoder.headerLength
    let isNamed = ["lzma", "tlz"].contains {
      path.bytes.suffix($0.utf8.count + 1).elementsEqual(".\($0)".utf8)
    }
    let isComplete = path == "-" && start.count > header && start[header] == 0
    return (isNamed || isComplete) && LZMAFrameDecoder.isPlausible(start)
  }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder {
    LZMAFrameDecoder(.alone, memoryLimit: options.memoryLimit)
  }
  static func checksFact(start: UnsafeRawBufferPointer) -> String { "lzma data has no checksums" }
}
