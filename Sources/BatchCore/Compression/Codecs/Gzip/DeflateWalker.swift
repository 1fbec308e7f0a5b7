import BatchEngine

/// Finds where the last block of a DEFLATE stream begins and ends, RFC 1951.
///
/// It reads the codes but produces no data, so that one table look-up can skip several literals and the length of a match. It
/// keeps its tables between streams.
final class DeflateWalker {
  private static let indexBits = 11

  // The steps of literals, then those of distances, so that a step gives the table of the next step without a branch that a
  // processor cannot predict.
  private let steps: UnsafeMutablePointer<DeflateTable.Step>
  private let precodeSteps: UnsafeMutablePointer<DeflateTable.Step>
  private let literals: DeflateTable
  private let distances: DeflateTable
  private let precode: DeflateTable

  init() {
    let size = 1 << Self.indexBits
    steps = .allocate(capacity: 2 * size)
    literals = DeflateTable(bits: Self.indexBits, steps: steps)
    distances = DeflateTable(bits: Self.indexBits, steps: steps + size)
    precodeSteps = .allocate(capacity: 1 << 7)
    precode = DeflateTable(bits: 7, steps: precodeSteps)
  }

  deinit {
    steps.deallocate()
    precodeSteps.deallocate()
  }

  /// - Parameter stream: followed by ``DeflateBits/readAhead`` bytes, which are read too.
  /// - Returns: the bits where the last block's header begins and where its last code ends; nil when the bytes are not one
  ///   complete stream.
  func lastBlock(of stream: UnsafeRawPointer, count: Int) -> (header: Int, end: Int)? {
    var reader = DeflateBits(stream: stream, end: count * 8)
    while true {
      let header = reader.position
      let isLast = reader.take(1) == 1
      switch reader.take(2) {
      case 0:
        guard reader.skipStored() else { return nil }
      case 1:
        setFixedCodes()
        guard skipCodes(&reader) else { return nil }
      case 2:
        guard readCodes(&reader), skipCodes(&reader) else { return nil }
      default:
        return nil
      }
      guard reader.position <= reader.end else { return nil }
      if isLast {
        return (reader.position + 7) >> 3 == count ? (header, reader.position) : nil
      }
    }
  }

  private func setFixedCodes() {
    literals.set { lengths in
      for symbol in 0..<288 {
        lengths[symbol] = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8
      }
      return 288
    }
    literals.joinLiterals()
    distances.set { lengths in
      lengths[..<30].update(repeating: 5)
      return 30
    }
    distances.addDistances()
  }

  /// Reads the code lengths at the start of a block with dynamic codes.
  private func readCodes(_ reader: inout DeflateBits) -> Bool {
    let literalCount = reader.take(5) + 257
    let distanceCount = reader.take(5) + 1
    let precodeCount = reader.take(4) + 4
    guard literalCount <= 286, distanceCount <= 30 else { return false }
    precode.set { lengths in
      lengths.update(repeating: 0)
      for place in 0..<precodeCount { lengths[Self.precodeOrder[place]] = UInt8(reader.take(3)) }
      return 19
    }
    let total = literalCount + distanceCount
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 286 + 30) { lengths in
      var place = 0
      while place < total {
        guard reader.position < reader.end, let symbol = precode.symbol(&reader) else { return false }
        let (value, repeats): (UInt8, Int) =
          switch symbol {
          case 0...15: (UInt8(symbol), 1)
          case 16: (place > 0 ? lengths[place - 1] : 0, 3 + reader.take(2))
          case 17: (0, 3 + reader.take(3))
          default: (0, 11 + reader.take(7))
          }
        guard repeats <= total - place, symbol != 16 || place > 0 else { return false }
        for next in place..<(place + repeats) { lengths.initializeElement(at: next, to: value) }
        place += repeats
      }
      literals.set { own in
        _ = own.update(fromContentsOf: lengths[..<literalCount])
        return literalCount
      }
      literals.joinLiterals()
      distances.set { own in
        _ = own.update(fromContentsOf: lengths[literalCount..<total])
        return distanceCount
      }
      distances.addDistances()
      return true
    }
  }

  /// Skips the literals and matches of a block and its end.
  private func skipCodes(_ reader: inout DeflateBits) -> Bool {
    let mask = UInt64(1 << Self.indexBits - 1)
    let ordinary = DeflateTable.Kind.toDistance.rawValue
    // The offset in `steps` of the table for the next bits.
    var table = 0
    while reader.position < reader.end {
      var bits = reader.peek()
      var step = steps[table &+ Int(truncatingIfNeeded: bits & mask)]
      if step >> 8 > ordinary {
        switch DeflateTable.Kind(rawValue: step >> 8) {
        case .end where table == 0:
          reader.position += Int(step & 0xFF)
          return true
        case .long:
          if table == 0 {
            guard let symbol = literals.symbol(&reader), symbol < 286 else { return false }
            if symbol == 256 { return true }
            if symbol > 256 {
              reader.position += DeflateTable.lengthExtraBits(symbol)
              table = 1 << Self.indexBits
            }
          } else {
            guard let symbol = distances.symbol(&reader), symbol < 30 else { return false }
            reader.position += DeflateTable.distanceExtraBits(symbol)
            table = 0
          }
          continue
        default:
          return false
        }
      }
      reader.position &+= Int(step & 0xFF)
      table = Int(step >> 8) &<< Self.indexBits
      // The remaining bits are enough for a second step: 57 less the 24 of the longest one.
      bits &>>= UInt64(step & 0xFF)
      step = steps[table &+ Int(truncatingIfNeeded: bits & mask)]
      if step >> 8 > ordinary { continue }
      reader.position &+= Int(step & 0xFF)
      table = Int(step >> 8) &<< Self.indexBits
    }
    return false
  }

  private static let precodeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
}
