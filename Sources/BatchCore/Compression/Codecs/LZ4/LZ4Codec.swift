import BatchEngine
import CLZ4

/// The LZ4 frame format 1.6.3.
enum LZ4Codec: CodecDescriptor {
  static let toolName = "lz4"
  static let tarSuffixes = ["tlz4"]
  static var libraries: [(name: String, version: String)] {
    [("liblz4", LZ4_versionString().map { String(cString: $0) } ?? "unknown")]
  }

  static let magic: UInt32 = 0x184D_2204
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool { start.begins(with: magic) }

  static func makeDecoder(_ options: DecoderOptions) throws(BatchError) -> any FrameDecoder {
    try LZ4FrameDecoder()
  }
  static func checksFact(start: UnsafeRawBufferPointer) -> String {
    "compared the checksums of lz4, where it has them"
  }

  static let use = CodecUse.files
  static let levels = 1...12
  static let defaultLevel = 1
  /// The largest block of a frame, as in the stock tool.
  static func blockSize(level: Int) -> Int { LZ4FrameHeader.largestBlock }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) -> any CodecContext { try LZ4Context(level: level) }
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) -> any BlockFraming { LZ4Framing(contentSize: contentSize) }

  static let index: IndexForm? = .skippableFrames
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int { 4 }
}

/// Frames blocks as one lz4 frame, with a checksum for each block.
struct LZ4Framing: BlockFraming {
  let contentSize: UInt64?

  func header() -> [UInt8] {
    LZ4FrameHeader(contentSize: contentSize, check: .blocks).bytes
  }

  func append(_ block: CompressedBlock) {}

  func trailer(plainCount: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(LZ4FrameHeader.endMark)
    return bytes
  }
}
