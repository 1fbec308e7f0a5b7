/// Compares the pieces of a file with what must follow the ones before them, and the CRC-32 of each stream with its blocks.
struct BZip2Chain {
  private enum Place {
    /// A header must be here, or the end of the file; in bytes.
    case between(UInt64)
    /// A mark of a block or of an end must be here; in bits.
    case inside(UInt64)
  }

  /// The digit of the current stream's header.
  private(set) var level: UInt8
  private var check: UInt32 = 0
  private var place = Place.between(0)

  init(level: UInt8) { self.level = level }

  /// - Returns: whether the piece is the next one.
  mutating func accept(_ piece: BZip2Piece) -> Bool {
    switch piece {
    case .blocks(let blocks):
      guard enter(blocks.bits.lowerBound, blocks.level) else { return false }
      let turn = UInt32(blocks.count % 32)
      check = (check << turn | check >> (32 - turn)) ^ blocks.check
      place = .inside(blocks.bits.upperBound)
    case .end(let bit, let check, let level):
      guard enter(bit, level), check == self.check else { return false }
      // A mark of 48 bits and a CRC, filled up to a byte.
      place = .between((bit + 80 + 7) / 8)
    }
    return true
  }

  private mutating func enter(_ bit: UInt64, _ level: UInt8?) -> Bool {
    switch place {
    case .inside(let expected): return bit == expected
    case .between(let byte):
      guard let level, bit == 8 * (byte + 4) else { return false }
      self.level = level
      check = 0
      return true
    }
  }

  /// Whether a file of this size ends here.
  func isEnd(_ size: UInt64) -> Bool {
    if case .between(let byte) = place { return byte == size }
    return false
  }
}
