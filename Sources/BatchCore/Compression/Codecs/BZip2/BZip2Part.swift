import BatchEngine

/// Consecutive blocks of one stream, or the end of a stream.
enum BZip2Piece: Sendable, Hashable {
  case blocks(BZip2Blocks)
  /// - Parameters:
  ///   - check: the CRC-32 of all blocks that is stored there.
  ///   - level: of the stream's header, if it is directly before.
  case end(bit: UInt64, check: UInt32, level: UInt8?)

  /// The digit of a stream's header directly before it.
  var level: UInt8? {
    switch self {
    case .blocks(let blocks): blocks.level
    case .end(_, _, let level): level
    }
  }
}

struct BZip2Blocks: Sendable, Hashable {
  /// From the mark of the first block to the mark behind the last one, in bits of the file.
  var bits: Range<UInt64>
  var count = 1
  /// The CRC-32 that a stream of these blocks has.
  var check: UInt32
  /// The digit of a stream's header directly before it.
  let level: UInt8?
}

/// The blocks and ends of streams that begin in a range of a file.
///
/// Their marks are only searched: a mark can occur by chance, then the blocks cannot be decoded, or do not follow the ones
/// before them.
struct BZip2Part {
  let pieces: [BZip2Piece]
  /// The offset in the file of the first byte in memory.
  private let base: UInt64

  /// Bytes that are read at a time behind the range, to find the end of its last block.
  private static let ahead = 64 << 10
  /// No encoder writes longer blocks.
  private static let longestBlock = 4 << 20
  private static let headerSize = 4
  private static let markLength = 48
  /// The bits of the mark and CRC at the start of a block and at the end of a stream.
  private static let fixedLength = 80

  /// - Parameters:
  ///   - range: not empty, in the file.
  ///   - bytes: a reused buffer.
  ///   - fill: reads the buffer from an offset; false if it cannot be filled.
  /// - Returns: nil if the last block has no end, or the file cannot be read.
  init?(
    _ range: Range<UInt64>, of size: UInt64, in bytes: inout [UInt8],
    fill: (_ buffer: UnsafeMutableRawBufferPointer, _ offset: UInt64) -> Bool
  ) {
    let margin = BZip2MarkScanner.margin
    let base = range.lowerBound - min(range.lowerBound, UInt64(Self.headerSize))
    let first = 8 * Int(range.lowerBound - base)
    let end = Int(clamping: range.upperBound - base)
    let limit = Int(clamping: size - base)
    self.base = base
    var (count, next) = (0, min(limit, end + Self.ahead))
    var marks: [BZip2MarkScanner.Mark] = []
    while true {
      if bytes.count < next + margin {
        var larger = [UInt8](unsafeUninitializedCapacity: next + 2 * Self.ahead) {
          $0.initialize(repeating: 0)
          $1 = next + 2 * Self.ahead
        }
        larger.replaceSubrange(..<count, with: bytes[..<count])
        bytes = larger
      }
      let isFilled = bytes.withUnsafeMutableBytes { raw in
        guard
          fill(UnsafeMutableRawBufferPointer(rebasing: raw[count..<next]), base + UInt64(count))
        else { return false }
        UnsafeMutableRawBufferPointer(rebasing: raw[next..<(next + margin)])
          .initializeMemory(as: UInt8.self, repeating: 0)
        BZip2MarkScanner.scan(
          UnsafeRawBufferPointer(rebasing: raw[..<(next + margin)]), from: max(0, count - margin)
        ) { mark in
          if mark.bit >= first, mark.bit > marks.last?.bit ?? -1 { marks.append(mark) }
        }
        return true
      }
      guard isFilled else { return nil }
      count = next
      guard let last = marks.last, !last.isEnd, last.bit < 8 * end else { break }
      guard count < limit, count < end + Self.longestBlock else { return nil }
      next = min(limit, count + Self.ahead)
    }
    guard let pieces = Self.pieces(marks, in: bytes, count: count, end: 8 * end, base: base) else {
      return nil
    }
    self.pieces = pieces
  }

  private static func pieces(
    _ marks: [BZip2MarkScanner.Mark], in bytes: [UInt8], count: Int, end: Int, base: UInt64
  ) -> [BZip2Piece]? {
    var pieces: [BZip2Piece] = []
    var blocks: BZip2Blocks?
    for mark in marks {
      let place = 8 * base + UInt64(mark.bit)
      let isOutside = mark.bit >= end
      if var known = blocks, mark.isEnd || isOutside {
        guard place > known.bits.lowerBound else { return nil }
        known.bits = known.bits.lowerBound..<place
        pieces.append(.blocks(known))
        blocks = nil
      }
      if isOutside { return pieces }
      guard mark.bit + fixedLength <= 8 * count else { return nil }
      let check = number(bytes, at: mark.bit + markLength)
      if mark.isEnd {
        pieces.append(.end(bit: place, check: check, level: level(bytes, before: mark.bit)))
      } else if var known = blocks {
        known.check = known.check << 1 | known.check >> 31
        known.check ^= check
        known.count += 1
        blocks = known
      } else {
        blocks = BZip2Blocks(bits: place..<place, check: check, level: level(bytes, before: mark.bit))
      }
    }
    return blocks == nil ? pieces : nil
  }

  /// 32 bits at a place, of which at least the first is in memory with the margin behind it.
  private static func number(_ bytes: [UInt8], at bit: Int) -> UInt32 {
    var word: UInt64 = 0
    for byte in bytes[(bit / 8)..<(bit / 8 + 5)] { word = word << 8 | UInt64(byte) }
    return UInt32(truncatingIfNeeded: word >> (8 - bit % 8))
  }

  private static func level(_ bytes: [UInt8], before bit: Int) -> UInt8? {
    let place = bit / 8
    guard bit.isMultiple(of: 8), place >= headerSize,
      bytes[(place - headerSize)..<(place - 1)].elementsEqual(BZip2Codec.magic),
      BZip2Codec.isLevel(bytes[place - 1])
    else { return nil }
    return bytes[place - 1]
  }

  /// Blocks as a stream of their own.
  ///
  /// - Parameters:
  ///   - level: the digit of the stream's header.
  ///   - bytes: what `init` has read.
  func stream(of blocks: BZip2Blocks, level: UInt8, in bytes: [UInt8]) -> [UInt8] {
    let start = Int(clamping: blocks.bits.lowerBound - 8 * base)
    let length = Int(clamping: blocks.bits.upperBound - blocks.bits.lowerBound)
    let (place, shift) = (start / 8, UInt16(8 - start % 8))
    func byte(_ first: UInt8, _ second: UInt8) -> UInt8 {
      UInt8(truncatingIfNeeded: (UInt16(first) << 8 | UInt16(second)) &>> shift)
    }
    let (whole, rest) = (length / 8, UInt8(length % 8))
    let capacity = Self.headerSize + whole + Self.fixedLength / 8 + 1
    return [UInt8](unsafeUninitializedCapacity: capacity) { room, count in
      func append(_ byte: UInt8) {
        room.initializeElement(at: count, to: byte)
        count += 1
      }
      for byte in BZip2Codec.magic { append(byte) }
      append(level)
      bytes.withUnsafeBufferPointer { bytes in
        for index in place..<(place + whole) { append(byte(bytes[index], bytes[index + 1])) }
      }
      // The bits that are left of the blocks are followed by the end of the stream.
      var word = UInt16(byte(bytes[place + whole], bytes[place + whole + 1])) >> UInt16(8 - rest)
      func push(_ byte: UInt8) {
        word = word << 8 | UInt16(byte)
        append(UInt8(truncatingIfNeeded: word >> rest))
      }
      for place in stride(from: 40, through: 0, by: -8) {
        push(UInt8(truncatingIfNeeded: BZip2MarkScanner.end >> place))
      }
      for place in stride(from: 24, through: 0, by: -8) {
        push(UInt8(truncatingIfNeeded: blocks.check >> place))
      }
      if rest > 0 { append(UInt8(truncatingIfNeeded: word << (8 - rest))) }
    }
  }
}
