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
    var skipped: CompressionFormat?
    // A file that is cut off is recognized by three bytes; nothing behind a skippable frame by fewer than four.
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

  /// The same of a file with a name, which also decides about formats without a magic number.
  ///
  /// - Parameter path: `-` for standard input, where the header has to be enough.
  static func detect(_ start: UnsafeRawBufferPointer, named path: PathBytes) -> CompressionFormat? {
    if let format = detect(start) { return format }
    guard UnsupportedFormat.detect(start) == nil else { return nil }
    return allCases.first { $0.codec.recognizes(start, named: path) }
  }

  /// Whether the number begins a frame of foreign data that decoders of zstd and lz4 pass over.
  static func isSkippable(_ magic: UInt32) -> Bool { magic & 0xFFFF_FFF0 == 0x184D_2A50 }

  /// Whether a skippable frame may begin with these bytes, four or fewer.
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
