import BatchEngine

/// Reads a DEFLATE stream bit by bit, lowest bit of each byte first.
struct DeflateBits {
  /// How many bytes after the stream ``peek()`` may read when it starts at most 34 bits after the end.
  static let readAhead = 16

  let stream: UnsafeRawPointer
  /// The length of the stream in bits.
  let end: Int
  /// The number of bits that were taken.
  var position = 0

  /// At least the next 57 bits, without checking for the end of the stream.
  @inline(__always)
  func peek() -> UInt64 {
    stream.loadUnaligned(fromByteOffset: position >> 3, as: UInt64.self).littleEndian
      &>> UInt64(truncatingIfNeeded: position & 7)
  }

  /// Reads a number of up to 16 bits; bits after the end are zero.
  mutating func take(_ count: Int) -> Int {
    defer { position += count }
    guard position < end else { return 0 }
    return Int(truncatingIfNeeded: peek() & ((1 << UInt64(count)) - 1))
  }

  /// Skips a stored block after its type.
  ///
  /// - Returns: whether its length is valid and within the stream.
  mutating func skipStored() -> Bool {
    position = (position + 7) & ~7
    let length = take(16)
    guard take(16) == length ^ 0xFFFF else { return false }
    position += length * 8
    return position <= end
  }
}
