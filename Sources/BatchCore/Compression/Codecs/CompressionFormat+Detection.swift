import BatchEngine

extension CompressionFormat {
  /// How many bytes of a file's start ``detect(_:)`` and ``CompressedContent/isCompressed(start:)`` want;
  /// fewer are fine when the file has no more.
  package static let detectionLength = 64

  /// The format of a file by its first bytes, whatever it is called.
  ///
  /// A skippable frame may begin a zstd file as well as an lz4 one: the frame behind it decides when it is
  /// within `start`, else zstd is taken, which is the one that writes them.
  package static func detect(_ start: UnsafeRawBufferPointer) -> CompressionFormat? {
    var start = start
    var result: CompressionFormat?
    while start.count >= 4 {
      let magic = start.loadUnaligned(as: UInt32.self).littleEndian
      if let format = format(ofMagic: magic, start) { return format }
      guard isSkippable(magic) else { return result }
      result = .zst
      guard start.count >= 8 else { return result }
      let length = start.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian
      guard start.count - 8 > Int(length) else { return result }
      start = UnsafeRawBufferPointer(rebasing: start[(8 + Int(length))...])
    }
    if let result { return result }
    // Three bytes are enough to know a file that is cut off; one of compress(1) without content has no more.
    guard start.count == 3 else { return nil }
    if start.starts(with: LZWFrameDecoder.magic) { return LZWFrameDecoder.isFlags(start[2]) ? .lzw : nil }
    return start.starts(with: [0x1F, 0x8B, 0x08]) ? .gz : nil
  }

  /// The format of a file by its first bytes.
  package static func detect(_ start: [UInt8]) -> CompressionFormat? {
    start.withUnsafeBytes { detect($0) }
  }

  /// The same of a file with a name: data of `lzma` has no magic number, so it is recognised by suffix and header.
  ///
  /// - Parameter path: `-` for standard input, where the header has to be enough.
  static func detect(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> CompressionFormat? {
    if let format = detect(start) { return format }
    guard UnsupportedFormat.detect(start) == nil else { return nil }
    let header = LZMAFrameDecoder.headerLength
    let isClaimed = ["lzma", "tlz"].contains {
      path.bytes.suffix($0.utf8.count + 1).elementsEqual(".\($0)".utf8)
    }
    // The first byte of the data is always 0.
    let isComplete = path == "-" && start.count > header && start[header] == 0
    guard isClaimed || isComplete else { return nil }
    return LZMAFrameDecoder.isPlausible(start) ? .lzma : nil
  }

  /// What follows the four bytes that a bzip2 stream begins with: a block, or the end of an empty one.
  static let bzip2Magics: [[UInt8]] = [
    [0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90],
  ]

  private static func format(ofMagic magic: UInt32, _ start: UnsafeRawBufferPointer) -> CompressionFormat? {
    switch magic {
    case zstdMagic: return .zst
    case lz4Magic: return .lz4
    case lzipMagic: return .lz
    default: break
    }
    if magic & 0xFF_FFFF == bzip2Start { return isBZip2(start) ? .bz2 : nil }
    if magic & 0xFFFF == lzwStart { return LZWFrameDecoder.isFlags(start[2]) ? .lzw : nil }
    return start.starts(with: [0x1F, 0x8B, 0x08]) ? .gz : start.starts(with: xzMagic) ? .xz : nil
  }

  /// Whether a level and a block follow the three letters, as far as there is anything.
  private static func isBZip2(_ start: UnsafeRawBufferPointer) -> Bool {
    guard (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(start[3]) else { return false }
    let block = start.dropFirst(4).prefix(6)
    return bzip2Magics.contains { $0.starts(with: block) }
  }

  /// `LZIP`.
  private static let lzipMagic: UInt32 = 0x5049_5A4C
  /// `BZh`.
  private static let bzip2Start: UInt32 = 0x68_5A42
  private static let lzwStart: UInt32 = 0x9D1F
  static let zstdMagic: UInt32 = 0xFD2F_B528
  static let lz4Magic: UInt32 = 0x184D_2204
  static let xzMagic: [UInt8] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]

  /// Whether the number begins a frame of foreign data that decoders of zstd and lz4 pass over.
  static func isSkippable(_ magic: UInt32) -> Bool { magic & 0xFFFF_FFF0 == 0x184D_2A50 }
}
