import BatchEngine

/// Detects bytes that DEFLATE cannot compress, many times faster than a trial compression.
///
/// Compressors with a larger window may still compress them: repetitions beyond 32 KiB are not searched. Encrypted or
/// compressed data counts as noise: all byte values are about equally frequent, and nothing repeats within the window. Text,
/// tables, programs, audio samples and images do not count as noise.
enum RandomnessCheck {
  /// Fewer bytes are not tested: they are too few for a decision, and compressed very fast.
  static let smallest = 1 << 10
  /// These bytes are tested first: most content is not noise, and its beginning already shows that.
  private static let sample = 4 << 10
  /// Pearson's chi-squared of 256 equally frequent values is 255 on average, with a deviation of 22.6. Values beyond four and a
  /// half deviations do not happen by chance: uneven values give higher ones, counters lower ones.
  private static let likely = 150.0...360.0

  /// Whether bytes are noise; false for fewer than ``smallest``.
  static func fills(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= smallest else { return false }
    let start = UnsafeRawBufferPointer(rebasing: bytes.prefix(sample))
    return isEven(start) && (bytes.count <= sample || isEven(bytes)) && !hasRepeats(bytes)
  }

  private static func isEven(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    // Four tables, so that increments for equal consecutive bytes do not wait for each other.
    return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 1024) { counts in
      counts.initialize(repeating: 0)
      guard let table = counts.baseAddress else { return false }
      let fours = bytes.count & ~3
      var index = 0
      while index < fours {
        let four = base.loadUnaligned(fromByteOffset: index, as: UInt32.self)
        table[Int(four & 255)] &+= 1
        table[256 &+ Int(four >> 8 & 255)] &+= 1
        table[512 &+ Int(four >> 16 & 255)] &+= 1
        table[768 &+ Int(four >> 24)] &+= 1
        index &+= 4
      }
      for index in fours..<bytes.count { counts[Int(bytes[index])] &+= 1 }
      var squares = 0.0
      for value in 0..<256 {
        let count = Double(counts[value] &+ counts[256 + value] &+ counts[512 + value] &+ counts[768 + value])
        squares += count * count
      }
      let total = Double(bytes.count)
      return likely.contains(squares * 256 / total - total)
    }
  }

  /// Whether eight bytes repeat within the window; every repetition of 44 bytes is found.
  private static func hasRepeats(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    let (window, tableBits) = (32 << 10, 13)
    // Every ninth position is stored and every fourth is looked up: among any 36 positions one is both, at any distance.
    let (noted, asked) = (9, 4)
    let round = noted * asked
    return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1 << tableBits) { table in
      table.initialize(repeating: -1)
      guard let places = table.baseAddress else { return false }
      func value(at place: Int) -> UInt64 { base.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
      func slot(of value: UInt64) -> Int {
        Int(truncatingIfNeeded: (value &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 &- tableBits))
      }
      // Positions have 31 bits, more than any caller's buffer; later bytes are ignored.
      let end = min(bytes.count, Int(Int32.max)) - round - 8
      var start = 0
      while start < end {
        for place in stride(from: start, to: start &+ round, by: asked) {
          let found = value(at: place)
          let earlier = Int(places[slot(of: found)])
          if earlier >= 0, place &- earlier <= window, value(at: earlier) == found { return true }
        }
        for place in stride(from: start, to: start &+ round, by: noted) {
          places[slot(of: value(at: place))] = Int32(truncatingIfNeeded: place)
        }
        start &+= round
      }
      return false
    }
  }
}
