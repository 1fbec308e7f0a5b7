import BatchEngine
import CDeflate
import CZlib

/// gzip members, RFC 1952.
enum GzipCodec: CodecDescriptor {
  static let toolName = "gzip"
  static let otherSuffixes = ["z", "gzip"]
  static let tarSuffixes = ["tgz", "taz"]
  /// libdeflate does not report its version at run time: this is the version of its headers at build time.
  static var libraries: [(name: String, version: String)] {
    [
      ("libdeflate", LIBDEFLATE_VERSION_STRING),
      ("zlib", zlibVersion().map { String(cString: $0) } ?? "unknown"),
    ]
  }

  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool { start.starts(with: [0x1F, 0x8B, 0x08]) }

  static func makeDecoder(_ options: DecoderOptions) throws(BatchError) -> any FrameDecoder {
    try GzipFrameDecoder()
  }
  static let garbage = TrailingGarbage.failure
  static func checksFact(start: UnsafeRawBufferPointer) -> String { "compared the CRC-32 and length of gzip" }
  static func parts(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts? {
    try GzipBlockTable.read(size: size, read)
  }

  static let use = CodecUse.files
  /// Up to 12, as in libdeflate; 0 stores the bytes uncompressed.
  static let levels = 0...12
  static let defaultLevel = 6
  static let fastestLevel = 1
  static let levelRemark: String? = "0 stores"
  /// A block starts without the 32 KiB before it: the output is 0.2 % larger.
  static func blockSize(level: Int) -> Int { 1 << 20 }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) -> any CodecContext { try GzipContext(level: level) }
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) -> any BlockFraming {
    let size = canPatch ? contentSize : nil
    return GzipFraming(level: level, table: size.map { GzipBlockTable(plainSize: $0, blockSize: blockSize) })
  }

  static let index: IndexForm? = .extraFields
  /// The CRC-32 and the length.
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int { 8 }
}
