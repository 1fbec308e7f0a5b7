import BatchEngine

extension CompressionFormat {
  /// How many bytes of a file's start ``detect(_:)`` and ``CompressedContent/isCompressed(start:)`` need; fewer only if the
  /// file has no more.
  package static let detectionLength = 64

  /// The format of a file by its first bytes, regardless of its name.
  ///
  /// Both a zstd file and an lz4 file may begin with a skippable frame: the next frame decides if it is within `start`;
  /// otherwise zstd is assumed, because zstd writes such frames.
  package static func detect(_ start: UnsafeRawBufferPointer) -> CompressionFormat? {
    var start = start
    var skipped: CompressionFormat?
    // A truncated file is recognized by three bytes; after a skippable frame four are required.
    while start.count >= 4 || skipped == nil {
      if let format = allCases.first(where: { $0.codec.recognizes(start) }) { return format }
      guard start.count >= 4, isSkippable(start.loadUnaligned(as: UInt32.self).littleEndian) else { break }
      skipped = .zst
      guard start.count >= 8 else { break }
      let length = start.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian
      guard start.count - 8 > Int(length) else { break }
      start = UnsafeRawBufferPointer(rebasing: start[(8 + Int(length))...])
    }
    return skipped
  }

  /// The format of a file by its first bytes.
  package static func detect(_ start: [UInt8]) -> CompressionFormat? {
    start.withUnsafeBytes { detect($0) }
  }

  /// The same for a file with a name, which also identifies formats without a magic number.
  ///
  /// - Parameter path: `-` for standard input, where only the header decides.
  static func detect(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> CompressionFormat? {
    if let format = detect(start) { return format }
    guard UnsupportedFormat.detect(start) == nil else { return nil }
    return allCases.first { $0.codec.recognizes(start, named: path) }
  }

  /// Whether the magic number is that of a skippable frame, which zstd and lz4 decoders ignore.
  static func isSkippable(_ magic: UInt32) -> Bool { magic & 0xFFFF_FFF0 == 0x184D_2A50 }

  /// Whether a skippable frame may begin with these bytes (at most four).
  static func canSkip(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first, first & 0xF0 == 0x50 else { return false }
    return ([0x2A, 0x4D, 0x18] as [UInt8]).starts(with: bytes.dropFirst())
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the first four bytes are this number, lowest byte first.
  func begins(with magic: UInt32) -> Bool {
    count >= 4 && loadUnaligned(as: UInt32.self).littleEndian == magic
  }
}
