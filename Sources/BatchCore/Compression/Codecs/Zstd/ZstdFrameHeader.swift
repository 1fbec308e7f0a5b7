/// The fields of a frame header, RFC 8878 section 3.1.1.1.
struct ZstdFrameHeader {
  /// The longest header in bytes, its magic number included.
  static let longest = 18
  /// The first bytes of a header, which contain its length.
  static let shortest = 5

  /// The length of the header in bytes, with the magic number.
  let length: Int
  /// The size of the content of the frame in bytes; nil if the header does not store it.
  let contentSize: UInt64?
  let hasChecksum: Bool
  /// The size of the window in bytes.
  let window: UInt64

  /// - Parameter bytes: from the magic number on, which is not checked.
  /// - Returns: nil if the header is truncated.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.shortest else { return nil }
    let descriptor = bytes[4]
    let sizeLength = Self.sizeLength(descriptor)
    length = Self.length(descriptor)
    guard bytes.count >= length else { return nil }
    let size = bytes[(length - sizeLength)..<length].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    // A size in two bytes is stored minus 256.
    contentSize = sizeLength == 0 ? nil : sizeLength == 2 ? size + 256 : size
    hasChecksum = descriptor >> 2 & 1 == 1
    // Without a window descriptor, the window has the size of the content.
    window =
      descriptor >> 5 & 1 == 1
      ? contentSize ?? 0 : (UInt64(1) << (7 + bytes[5] >> 3)) * UInt64(8 + (bytes[5] & 7))
  }

  /// The most bytes of a block, stored or decoded; RFC 8878 section 3.1.1.2.4.
  var largestBlock: UInt64 { min(window, 128 << 10) }

  /// The length of a header in bytes.
  ///
  /// - Parameter descriptor: the byte after the magic number.
  static func length(_ descriptor: UInt8) -> Int {
    let windowLength = descriptor >> 5 & 1 == 1 ? 0 : 1
    return shortest + windowLength + [0, 1, 2, 4][Int(descriptor & 3)] + sizeLength(descriptor)
  }

  private static func sizeLength(_ descriptor: UInt8) -> Int {
    [descriptor >> 5 & 1 == 1 ? 1 : 0, 2, 4, 8][Int(descriptor >> 6)]
  }
}
