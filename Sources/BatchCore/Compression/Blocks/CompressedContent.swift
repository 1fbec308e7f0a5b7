import BatchEngine

/// Detects incompressible content by its first bytes.
package enum CompressedContent {
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

  /// The same for bytes in an array.
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
