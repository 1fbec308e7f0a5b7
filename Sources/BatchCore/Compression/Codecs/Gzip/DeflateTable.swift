import BatchEngine

/// A Huffman code of DEFLATE as a table: the next bits of the stream determine how many of them to skip.
final class DeflateTable {
  /// What follows after the bits of a step.
  enum Kind: UInt16 {
    /// A literal, a length or the end of the block.
    case toLiterals
    /// The distance of a match.
    case toDistance
    case end
    /// A code longer than the table's index; none of its bits were skipped.
    case long
    /// No code begins with these bits.
    case invalid
  }

  /// A kind and, in the low byte, how many bits to skip.
  typealias Step = UInt16

  static func step(_ kind: Kind, bits: Int) -> Step { kind.rawValue << 8 | UInt16(bits) }

  private struct Code {
    var length: UInt8
    var symbol: UInt16
  }

  static let maximumLength = 15

  private let steps: UnsafeMutablePointer<Step>
  private let bits: Int
  private let size: Int
  // The code with which each index begins; length 0 for no code or a long one.
  private let codes: UnsafeMutablePointer<Code>
  private let lengths: UnsafeMutableBufferPointer<UInt8>
  // The symbols in the order of their codes, and how many have each length.
  private let symbols: UnsafeMutablePointer<UInt16>
  private let counts: UnsafeMutablePointer<Int>

  /// - Parameters:
  ///   - bits: the size of the table's index.
  ///   - steps: the memory for the step of each index, owned by the caller.
  init(bits: Int, steps: UnsafeMutablePointer<Step>) {
    self.bits = bits
    self.steps = steps
    size = 1 << bits
    codes = .allocate(capacity: size)
    lengths = .allocate(capacity: 288)
    lengths.initialize(repeating: 0)
    symbols = .allocate(capacity: 288)
    counts = .allocate(capacity: Self.maximumLength + 1)
  }

  deinit {
    codes.deallocate()
    lengths.deallocate()
    symbols.deallocate()
    counts.deallocate()
  }

  /// Sets the code from the lengths of its symbols.
  ///
  /// - Parameter fill: writes the lengths, each at most 15, and returns how many symbols there are.
  func set(_ fill: (UnsafeMutableBufferPointer<UInt8>) -> Int) {
    let symbolCount = fill(lengths)
    counts.update(repeating: 0, count: Self.maximumLength + 1)
    for symbol in 0..<symbolCount { counts[Int(lengths[symbol])] += 1 }
    counts[0] = 0
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 2 * Self.maximumLength + 2) { scratch in
      // By length: the next code, and the next index among the symbols.
      scratch.initialize(repeating: 0)
      let place = Self.maximumLength + 1
      for length in 1..<Self.maximumLength {
        scratch[length + 1] = (scratch[length] + counts[length]) << 1
        scratch[place + length + 1] = scratch[place + length] + counts[length]
      }
      codes.update(repeating: Code(length: 0, symbol: 0), count: size)
      steps.update(repeating: Self.step(.invalid, bits: 0), count: size)
      for symbol in 0..<symbolCount where lengths[symbol] > 0 {
        let length = Int(lengths[symbol])
        symbols[scratch[place + length]] = UInt16(symbol)
        scratch[place + length] += 1
        add(Code(length: UInt8(length), symbol: UInt16(symbol)), code: scratch[length])
        scratch[length] += 1
      }
    }
  }

  /// Stores a code at each index that ends with it, because DEFLATE packs codes starting at their highest bit.
  private func add(_ entry: Code, code: Int) {
    let length = Int(entry.length)
    var reversed = 0
    for bit in 0..<length where code >> bit & 1 == 1 { reversed |= 1 << (length - 1 - bit) }
    guard length <= bits else {
      steps[reversed & (size - 1)] = Self.step(.long, bits: 0)
      return
    }
    var index = reversed
    // An oversubscribed code has more codes than fit.
    while index < size {
      codes[index] = entry
      index += 1 << length
    }
  }

  /// Creates the steps of a literal/length code: as many literals as fit into the index, then the symbol that ends them.
  func joinLiterals() {
    for index in 0..<size {
      var used = 0
      var kind = Kind.toLiterals
      while used < bits {
        let code = codes[index >> used]
        let length = Int(code.length)
        if length == 0 || length > bits - used { break }
        used += length
        if code.symbol < 256 { continue }
        if code.symbol == 256 {
          kind = .end
        } else {
          kind = code.symbol < 286 ? .toDistance : .invalid
          used += Self.lengthExtraBits(Int(code.symbol))
        }
        break
      }
      if used > 0 { steps[index] = Self.step(kind, bits: used) }
    }
  }

  /// Creates the steps of a distance code.
  func addDistances() {
    for index in 0..<size where codes[index].length > 0 && codes[index].symbol < 30 {
      let extra = Self.distanceExtraBits(Int(codes[index].symbol))
      steps[index] = Self.step(.toLiterals, bits: Int(codes[index].length) + extra)
    }
  }

  /// Reads one symbol, with a code of any length.
  func symbol(_ reader: inout DeflateBits) -> Int? {
    var bits = reader.peek()
    var code = 0
    var first = 0
    var place = 0
    for length in 1...Self.maximumLength {
      code |= Int(bits & 1)
      bits >>= 1
      let count = counts[length]
      if code - first < count {
        reader.position += length
        return Int(symbols[place + code - first])
      }
      place += count
      first = (first + count) << 1
      code <<= 1
    }
    return nil
  }

  /// How many bits of a match's length follow its symbol, 257 to 285.
  static func lengthExtraBits(_ symbol: Int) -> Int {
    symbol < 265 || symbol == 285 ? 0 : (symbol - 261) >> 2
  }

  /// How many bits of a distance follow its symbol, 0 to 29.
  static func distanceExtraBits(_ symbol: Int) -> Int {
    symbol < 4 ? 0 : (symbol - 2) >> 1
  }
}
