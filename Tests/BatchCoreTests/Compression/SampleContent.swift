import Synchronization
import TestSupport

/// Content made from a seed, so that its bytes are the same in every run.
enum SampleContent: String, CaseIterable, Sendable {
  case text, noise, zeros
  /// Alternating text and noise, so that compressors store some blocks and compress others.
  case mixed

  func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    // Long contents are made only once.
    guard count > 1 << 20 else { return make(count, seed: seed) }
    let name = "\(self) \(count) \(seed)"
    if let bytes = Self.made.withLock({ $0[name] }) { return bytes }
    let bytes = make(count, seed: seed)
    Self.made.withLock { $0[name] = bytes }
    return bytes
  }

  private static let made = Mutex<[String: [UInt8]]>([:])

  private func make(_ count: Int, seed: UInt64) -> [UInt8] {
    var chance = SeededNumbers(seed: seed &+ UInt64(count))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 64)
    while bytes.count < count {
      switch self {
      case .zeros: bytes = [UInt8](repeating: 0, count: count)
      case .text: bytes += Self.lines[Int(chance.next() % UInt64(Self.lines.count))]
      case .noise:
        bytes.append(addingCapacity: count) { span in
          span.withUnsafeMutableBufferPointer { room, filled in
            chance.fill(UnsafeMutableRawBufferPointer(room))
            filled = count
          }
        }
      case .mixed:
        let turn = SampleContent.allCases[Int(chance.next() % 2)]
        bytes += turn.bytes(Int(chance.next() % 40_000) + 1, seed: chance.next())
      }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }

  // Whole lines are copied, since tests without optimization would take minutes to make single bytes.
  private static let lines: [[UInt8]] = {
    var chance = SeededNumbers(seed: 42)
    let words = (0..<1000).map { "word\($0 * $0) " }
    return (0..<4096).map { _ in
      Array((0..<12).map { _ in words[Int(chance.next() % 1000)] }.joined().utf8) + [0x0A]
    }
  }()
}

extension SeededNumbers {
  fileprivate mutating func fill(_ room: UnsafeMutableRawBufferPointer) {
    var offset = 0
    while offset + 8 <= room.count {
      room.storeBytes(of: next(), toByteOffset: offset, as: UInt64.self)
      offset += 8
    }
    withUnsafeBytes(of: next()) { last in
      for offset in (room.count & ~7)..<room.count { room[offset] = last[offset & 7] }
    }
  }
}
