/// Content made from a seed: the same bytes in every run.
enum SampleContent: String, CaseIterable, Sendable {
  case text, noise, zeros
  /// Text and noise by turns, so that compressors store some blocks and pack others.
  case mixed

  func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var chance = SeededRandom(seed: seed &+ UInt64(count))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 64)
    while bytes.count < count {
      switch self {
      case .zeros: bytes.append(contentsOf: repeatElement(0, count: count))
      case .text: bytes += Self.words[Int(chance.next() % 97)]
      case .noise: withUnsafeBytes(of: chance.next()) { bytes.append(contentsOf: $0) }
      case .mixed:
        let turn = SampleContent.allCases[Int(chance.next() % 2)]
        bytes += turn.bytes(Int(chance.next() % 40_000) + 1, seed: chance.next())
      }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  private static let words: [[UInt8]] = (0..<97).map { number in
    Array("word\(number * number) ".utf8) + (number.isMultiple(of: 11) ? [0x0A] : [])
  }
}
