import BatchEngine
import CZstd

/// Zstandard frames, RFC 8878.
enum ZstdCodec: CodecDescriptor {
  static let toolName = "zstd"
  static let tarSuffixes = ["tzst"]
  static var libraries: [(name: String, version: String)] {
    [("libzstd", ZSTD_versionString().map { String(cString: $0) } ?? "unknown")]
  }

  static let magic: UInt32 = 0xFD2F_B528
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool { start.begins(with: magic) }

  static func makeDecoder(_ options: DecoderOptions) throws(BatchError) -> any FrameDecoder {
    try ZstdFrameDecoder(windowLog: options.windowLog)
  }
  static func checksFact(start: UnsafeRawBufferPointer) -> String {
    start.count > 4 && start[4] >> 2 & 1 == 1
      ? "compared the checksums of zstd" : "its zstd frames have no checksums"
  }
  static func parts(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts? {
    try ZstdFrameScanner(size: size).parts(read).map { CompressedParts(parts: $0) }
  }

  static let use = CodecUse.files
  static let levels = 1...22
  static let defaultLevel = 3
  /// Higher levels take more than ten times the memory.
  static let bestLevel = 19
  /// Four windows, as the jobs of `zstd -T`.
  static func blockSize(level: Int) -> Int {
    switch level {
    case ...5: 8 << 20
    case ...15: 16 << 20
    case ...19: 32 << 20
    default: 128 << 20
    }
  }
  /// Tables of the strategy, in proportion to its window: from 8 MiB at level 19 to 128 MiB at level 22.
  static func contextMemory(level: Int) -> Int {
    switch level {
    case ..<10: 16 << 20
    case ..<16: 48 << 20
    case ..<20: 112 << 20
    default: 800 << 20
    }
  }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) -> any CodecContext { try ZstdContext(level: level, checking: check) }
  static func makeFraming(
    level: Int, contentSize: UInt64?, blockSize: Int, canPatch: Bool
  ) -> any BlockFraming { ZstdFraming(level: level) }

  static let index: IndexForm? = .seekTable
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int { 4 }
}

/// Consecutive Zstandard frames, which need no framing.
struct ZstdFraming: BlockFraming {
  private let level: Int
  private var isEmpty = true

  init(level: Int) {
    self.level = level
  }

  func header() -> [UInt8] { [] }

  mutating func append(_ block: CompressedBlock) {
    isEmpty = false
  }

  func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8] {
    var bytes: [UInt8] = []
    // A file without bytes would not be a zstd file.
    if isEmpty {
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      try ZstdContext(level: level).compress(wholeFile: nothing, into: &bytes)
    }
    return bytes
  }
}
