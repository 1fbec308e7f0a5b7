/// Numbers that are the same in every run (SplitMix64).
package struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Bytes of any value, eight from each number, since a loop over bytes is slow without optimization.
  package mutating func bytes(_ count: Int) -> [UInt8] {
    var words: [UInt64] = []
    words.reserveCapacity(count / 8 + 1)
    while words.count * 8 < count { words.append(next()) }
    return words.withUnsafeBytes { Array(UnsafeRawBufferPointer(rebasing: $0.prefix(count))) }
  }

  package mutating func bytes(_ count: ClosedRange<Int>, of alphabet: [UInt8]) -> [UInt8] {
    (0..<Int.random(in: count, using: &self)).map { _ in
      alphabet[Int.random(in: alphabet.indices, using: &self)]
    }
  }
}
