import BatchEngine

/// Detects bytes that DEFLATE does not make smaller, many times faster than a trial would.
///
/// Compressors with a larger window may: what comes again beyond 32 KiB is not looked for.
/// What was encrypted or compressed already passes for noise: every byte value is about as frequent as the
/// others, and nothing comes twice within the window. Text, tables, programs, samples and pictures do not.
enum RandomnessCheck {
  /// Fewer bytes than these say too little, and are compressed in no time.
  static let smallest = 1 << 10
  /// Most bytes are no noise, and the first of them show it.
  private static let sample = 4 << 10
  /// Pearson's chi-squared of 256 equally frequent values is 255 on average, with a deviation of 22.6. What lies
  /// further off than four and a half times that is no chance: too high for uneven values, too low for counters.
  private static let likely = 150.0...360.0

  /// Whether bytes are noise; nothing is known of fewer than ``smallest``.
  static func fills(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count >= smallest else { return false }
    let start = UnsafeRawBufferPointer(rebasing: bytes.prefix(sample))
    return isEven(start) && (bytes.count <= sample || isEven(bytes)) && !hasRepeats(bytes)
  }

  private static func isEven(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    // Four tables, so that equal bytes in a row do not wait for each other.
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

  /// Whether eight bytes stood in the window before; a stretch of 44 bytes that comes again is sure to be seen.
  private static func hasRepeats(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    let (window, tableBits) = (32 << 10, 13)
    // Every ninth place is noted and every fourth looked up: of any 36 places one is both, whatever the distance.
    let (noted, asked) = (9, 4)
    let round = noted * asked
    return withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1 << tableBits) { table in
      table.initialize(repeating: -1)
      guard let places = table.baseAddress else { return false }
      func value(at place: Int) -> UInt64 { base.loadUnaligned(fromByteOffset: place, as: UInt64.self) }
      func slot(of value: UInt64) -> Int {
        Int(truncatingIfNeeded: (value &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 &- tableBits))
      }
      // Places have 31 bits, which no buffer of a caller comes near; what is beyond is not looked at.
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
