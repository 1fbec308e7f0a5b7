import BatchEngine

/// A compression or archive format that is recognized by its first bytes, so that messages can name it; most of these are not
/// read.
///
/// Code that reads one of them must detect it before this is used. Formats that are read everywhere (gzip, zstd, xz, lz4,
/// bzip2, compress(1), lzip; tar, cpio, zip, 7z) are not among these.
package struct UnsupportedFormat: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// One stream of compressed bytes.
    case compressed
    /// Members with names.
    case archive
  }

  /// The usual name of the format.
  package let name: String
  package let kind: Kind
  /// The bytes at this offset that identify a file; empty for a format that has none.
  private let magic: [UInt8]
  private let offset: Int

  private init(_ name: String, _ kind: Kind, at offset: Int = 0, _ magic: [UInt8] = []) {
    self.name = name
    self.kind = kind
    self.magic = magic
    self.offset = offset
  }

  /// The format of a file by its first bytes; nil if it is not in the table.
  ///
  /// - Parameter start: the first ``CompressionFormat/detectionLength`` bytes, or all of a shorter file. ISO images are
  ///   recognized if ``isoLength`` bytes are given.
  package static func detect(_ start: UnsafeRawBufferPointer) -> UnsupportedFormat? {
    table.first { start.dropFirst($0.offset).starts(with: $0.magic) }
  }

  /// The format of a file by its first bytes.
  package static func detect(_ start: [UInt8]) -> UnsupportedFormat? {
    start.withUnsafeBytes { detect($0) }
  }

  /// How many bytes from the start are needed to identify an ISO 9660 image: 16 sectors and the first six bytes of the next one.
  package static let isoLength = 16 * 2048 + 6

  /// The format that a name claims where no magic number exists; nil for all other names.
  package static func claimed(by path: PathBytes) -> UnsupportedFormat? {
    path.bytes.suffix(3).elementsEqual(".br".utf8) ? UnsupportedFormat("Brotli", .compressed) : nil
  }

  /// Text for messages, after the name of the file.
  package var message: String {
    switch kind {
    case .compressed: "unsupported: \(name) data"
    case .archive: "unsupported: \(name) archive"
    }
  }

  private static let table: [UnsupportedFormat] =
    compressedRows + archiveRows
    // The magic numbers of zstd 0.1 to 0.7, which libzstd reads only if it was built for that.
    + [0x1E, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27].map {
      UnsupportedFormat("zstd before version 0.8", .compressed, [$0, 0xB5, 0x2F, 0xFD])
    }

  private static let compressedRows = [
    UnsupportedFormat("lzop", .compressed, [0x89] + Array("LZO".utf8) + [0x00, 0x0D, 0x0A, 0x1A, 0x0A]),
    UnsupportedFormat("legacy lz4", .compressed, [0x02, 0x21, 0x4C, 0x18]),
    UnsupportedFormat("zstd dictionary", .compressed, [0x37, 0xA4, 0x30, 0xEC]),
    UnsupportedFormat("lrzip", .compressed, Array("LRZI".utf8)),
    UnsupportedFormat("rzip", .compressed, Array("RZIP".utf8)),
    UnsupportedFormat("pack(1)", .compressed, [0x1F, 0x1E]),
    UnsupportedFormat("compress -H", .compressed, [0x1F, 0xA0]),
    UnsupportedFormat("bzip 1", .compressed, Array("BZ0".utf8)),
    UnsupportedFormat("Snappy", .compressed, [0xFF, 0x06, 0x00, 0x00] + Array("sNaPpY".utf8)),
    UnsupportedFormat("LZFSE", .compressed, Array("bvx2".utf8)),
  ]

  private static let archiveRows =
    [
      UnsupportedFormat("RAR 5", .archive, Array("Rar!".utf8) + [0x1A, 0x07, 0x01, 0x00]),
      UnsupportedFormat("RAR", .archive, Array("Rar!".utf8) + [0x1A, 0x07, 0x00]),
      UnsupportedFormat("cab", .archive, Array("MSCF".utf8) + [0, 0, 0, 0]),
      UnsupportedFormat("ar", .archive, Array("!<arch>\n".utf8)),
      UnsupportedFormat("xar", .archive, Array("xar!".utf8)),
      UnsupportedFormat("WARC", .archive, Array("WARC/".utf8)),
      UnsupportedFormat("SquashFS", .archive, Array("hsqs".utf8)),
      UnsupportedFormat("ACE", .archive, at: 7, Array("**ACE**".utf8)),
      UnsupportedFormat("Zoo", .archive, at: 20, [0xDC, 0xA7, 0xC4, 0xFD]),
      UnsupportedFormat("ISO 9660", .archive, at: 16 * 2048 + 1, Array("CD001".utf8)),
    ]
    + ["lh0", "lh1", "lh4", "lh5", "lh6", "lh7", "lhd", "lz4", "lz5", "lzs"].map {
      UnsupportedFormat("LHA", .archive, at: 2, Array("-\($0)-".utf8))
    }
}
