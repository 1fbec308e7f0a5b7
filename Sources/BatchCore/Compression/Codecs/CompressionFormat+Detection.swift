import BatchEngine

extension CompressionFormat {
  /// How many bytes of a file's start ``detect(_:)`` and ``isCompressed(start:)`` need; fewer only if the
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

  /// The format of a file by its first bytes and its name, which also identifies formats without a magic number.
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

extension CompressionFormat {
  /// Whether a file has a format that is already compressed: an archive, an image, a video, audio, a web font.
  ///
  /// Formats that may contain compressed parts (PDF, TIFF, tar, ELF) are not included, because most such files still shrink.
  /// BMP, WAV and AIFF are uncompressed.
  ///
  /// - Parameter start: the first ``CompressionFormat/detectionLength`` bytes, or all of a shorter file.
  package static func isCompressed(start: UnsafeRawBufferPointer) -> Bool {
    if CompressionFormat.detect(start) != nil { return true }
    return signatures.contains { start.dropFirst($0.offset).starts(with: $0.bytes) }
      || isMPEGAudio(start) || isWebP(start)
  }

  /// Whether the first bytes of a file show that it is already compressed.
  package static func isCompressed(start: [UInt8]) -> Bool {
    start.withUnsafeBytes { isCompressed(start: $0) }
  }

  private static let signatures: [(offset: Int, bytes: [UInt8])] = [
    (0, Array("BZh".utf8)),
    (0, [0x89] + Array("LZO".utf8)),
    // The legacy frame of lz4.
    (0, [0x02, 0x21, 0x4C, 0x18]),
    // A zstd dictionary: entropy tables and samples.
    (0, [0x37, 0xA4, 0x30, 0xEC]),
    // zip and formats based on it (jar, docx, odt, apk, epub): first entry, empty, spanned.
    (0, Array("PK".utf8) + [3, 4]),
    (0, Array("PK".utf8) + [5, 6]),
    (0, Array("PK".utf8) + [7, 8]),
    (0, Array("7z".utf8) + [0xBC, 0xAF, 0x27, 0x1C]),
    (0, Array("Rar!".utf8) + [0x1A, 0x07]),
    (0, Array("MSCF".utf8)),
    (0, Array("hsqs".utf8)),
    (0, [0x89] + Array("PNG\r\n".utf8) + [0x1A, 0x0A]),
    (0, [0xFF, 0xD8, 0xFF]),
    (0, Array("GIF8".utf8)),
    // ISO media: mp4, mov, m4a, heic, avif.
    (4, Array("ftyp".utf8)),
    // JPEG XL and JPEG 2000 in their containers.
    (4, Array("JXL ".utf8)),
    (4, Array("jP  ".utf8)),
    // Matroska and WebM.
    (0, [0x1A, 0x45, 0xDF, 0xA3]),
    (0, Array("OggS".utf8)),
    (0, Array("fLaC".utf8)),
    (0, Array("ID3".utf8)),
    (0, Array("wOFF".utf8)),
    (0, Array("wOF2".utf8)),
  ]

  /// An MPEG audio frame without preceding tags: eleven set bits, then no reserved value of version, layer, bit rate and
  /// sampling rate. A UTF-16 byte order mark is not one.
  private static func isMPEGAudio(_ start: UnsafeRawBufferPointer) -> Bool {
    guard start.count >= 4, start[0] == 0xFF, start[1] & 0xE0 == 0xE0 else { return false }
    let version = start[1] >> 3 & 3
    let layer = start[1] >> 1 & 3
    let bitRate = start[2] >> 4
    let samplingRate = start[2] >> 2 & 3
    return version != 1 && layer == 1 && bitRate != 0 && bitRate != 15 && samplingRate != 3
  }

  private static func isWebP(_ start: UnsafeRawBufferPointer) -> Bool {
    start.starts(with: Array("RIFF".utf8)) && start.dropFirst(8).starts(with: Array("WEBP".utf8))
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the first four bytes are this number, lowest byte first.
  func begins(with magic: UInt32) -> Bool {
    count >= 4 && loadUnaligned(as: UInt32.self).littleEndian == magic
  }
}
