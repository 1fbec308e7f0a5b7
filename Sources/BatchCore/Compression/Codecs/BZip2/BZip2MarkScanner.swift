import BatchEngine

/// Finds the marks of blocks and of the ends of streams, which begin at any bit.
enum BZip2MarkScanner {
  static let block: UInt64 = 0x3141_5926_5359
  static let end: UInt64 = 0x1772_4538_5090
  /// Bytes behind the searched ones that must be in memory.
  static let margin = 16
  private static let length = 48

  struct Mark: Hashable {
    /// Its distance from the first byte, in bits.
    let bit: Int
    let isEnd: Bool
  }

  /// Whether two bytes occur in a mark. At every shift, the bytes 1 to 5 of a mark are full; so one of the four pairs in them
  /// begins at a multiple of four.
  private static let pairs: [Bool] = {
    var pairs = [Bool](repeating: false, count: 1 << 16)
    for mark in [block, end] {
      for shift in 0..<8 {
        let bits = mark << UInt64(8 - shift)
        for first in 1...4 { pairs[Int(UInt16(truncatingIfNeeded: bits >> UInt64(40 - 8 * first)))] = true }
      }
    }
    return pairs
  }()

  /// - Parameters:
  ///   - bytes: the searched bytes and ``margin`` more.
  ///   - start: the first searched byte.
  static func scan(_ bytes: UnsafeRawBufferPointer, from start: Int, found: (Mark) -> Void) {
    let count = bytes.count - margin
    pairs.withUnsafeBufferPointer { pairs in
      var place = start & ~3
      while place + 1 < count {
        let pair = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self))
        if pairs[Int(pair)] {
          for first in stride(from: max(0, place - 4), to: place, by: 1) {
            let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: first, as: UInt64.self))
            for shift in 0..<8 where 8 * first + shift + length <= 8 * count {
              let value = (word << UInt64(shift)) >> 16
              if value == block || value == end {
                found(Mark(bit: 8 * first + shift, isEnd: value == end))
              }
            }
          }
        }
        place += 4
      }
    }
  }
}
