extension CompressionFormat {
  /// How many bytes of a file's start ``detect(_:)`` and ``CompressedContent/isCompressed(start:)`` want;
  /// fewer are fine when the file has no more.
  public static let detectionLength = 64

  /// The format of a file by its first bytes, whatever it is called.
  ///
  /// A skippable frame may begin a zstd file as well as an lz4 one: the frame behind it decides when it is
  /// within `start`, else zstd is taken, which is the one that writes them.
  public static func detect(_ start: UnsafeRawBufferPointer) -> CompressionFormat? {
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
    // Three bytes are enough to know a gzip file that is cut off.
    return result ?? (start.starts(with: [0x1F, 0x8B, 0x08]) ? .gz : nil)
  }

  /// The format of a file by its first bytes.
  public static func detect(_ start: [UInt8]) -> CompressionFormat? {
    start.withUnsafeBytes { detect($0) }
  }

  /// The same of an archive, which may be compressed in a way that single files are not.
  static func detect(archive start: UnsafeRawBufferPointer) -> CompressionFormat? {
    if let format = detect(start) { return format }
    let isStream =
      start.starts(with: Array("BZh".utf8)) && bzip2Magics.contains { start.dropFirst(4).starts(with: $0) }
    return isStream ? .bz2 : nil
  }

  /// The same of an archive.
  static func detect(archive start: [UInt8]) -> CompressionFormat? {
    start.withUnsafeBytes { detect(archive: $0) }
  }

  /// What follows the four bytes that a bzip2 stream begins with: a block, or the end of an empty one.
  static let bzip2Magics: [[UInt8]] = [
    [0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90],
  ]

  private static func format(ofMagic magic: UInt32, _ start: UnsafeRawBufferPointer) -> CompressionFormat? {
    switch magic {
    case zstdMagic: .zst
    case lz4Magic: .lz4
    default: start.starts(with: [0x1F, 0x8B, 0x08]) ? .gz : start.starts(with: xzMagic) ? .xz : nil
    }
  }

  static let zstdMagic: UInt32 = 0xFD2F_B528
  static let lz4Magic: UInt32 = 0x184D_2204
  static let xzMagic: [UInt8] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]

  /// Whether the number begins a frame of foreign data that decoders of zstd and lz4 pass over.
  static func isSkippable(_ magic: UInt32) -> Bool { magic & 0xFFFF_FFF0 == 0x184D_2A50 }
}
