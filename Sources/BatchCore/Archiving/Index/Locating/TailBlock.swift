import BatchEngine

/// The block that ends the tail of an uncompressed archive, and the last stream of a `.tar.xz`.
struct TailBlock: Hashable {
  static let size = TarBlock.size
  static let damagedRemark = "the archive is damaged after the index"
  /// How many of the eight letters of the mark must match: with fewer it is a block of other content, with more it may be damaged.
  private static let fewestLetters = 5

  /// The size in bytes, without the zeros that fill its last block.
  let indexLength: UInt64
  /// Where the index begins in the file, which only a `.tar.bz2` stores.
  private var offset: UInt64 = 0

  init(indexLength: UInt64, offset: UInt64 = 0) {
    self.indexLength = indexLength
    self.offset = offset
  }

  /// Parses a tail block; nil if it is not one. Comparing it with ``bytes`` shows damage.
  init?(_ bytes: [UInt8]) {
    let text = ArchiveTail.locatorText
    guard bytes.count == Self.size, zip(bytes, text).count(where: ==) >= Self.fewestLetters else {
      return nil
    }
    var reader = LittleEndianReader(bytes[text.count...])
    guard let length = reader.number(UInt64.self) else { return nil }
    indexLength = length
  }

  var bytes: [UInt8] {
    var bytes = ArchiveTail.locatorText
    bytes.appendLittleEndian(indexLength)
    bytes.appendLittleEndian(offset)
    TarBlock.pad(&bytes, from: 0)
    return bytes
  }

  /// The length from the start of the index to the end of this block; nil if it overflows.
  var tailLength: UInt64? {
    let size = UInt64(Self.size)
    guard indexLength > 0, indexLength <= UInt64(Int64.max) - 2 * size else { return nil }
    return (indexLength + size - 1) / size * size + size
  }
}
