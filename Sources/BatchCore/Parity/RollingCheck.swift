/// The CRC-32 of a window that moves byte by byte over a file.
struct RollingCheck {
  /// The table of the CRC-32 of zlib, one byte at a time.
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
  }

  /// What a byte adds to the sum when it is a whole window behind.
  private let removal: [UInt32]
  /// The CRC-32 of a window of zeros, which is the part that does not depend on the bytes.
  private let constant: UInt32
  private var sum: UInt32 = 0

  /// - Parameter width: bytes of the window.
  init(width: Int) {
    constant = Checksums.check(zeros: width)
    // The sum is linear, so eight bits give all bytes. A byte before the window is followed by as many zeros as the window has.
    let longer = Checksums.check(zeros: width + 1)
    var bits: [UInt32] = []
    for bit in 0..<8 {
      let first = [UInt8(1) << bit].withUnsafeBytes { Checksums.check($0) }
      bits.append(Checksums.check(zeros: width, after: first) ^ longer)
    }
    removal = (0..<256).map { byte in
      (0..<8).reduce(0) { sum, bit in byte >> bit & 1 == 0 ? sum : sum ^ bits[bit] }
    }
  }

  /// The CRC-32 of the window.
  var check: UInt32 { sum ^ constant }

  /// - Parameter check: the CRC-32 of the first window.
  mutating func begin(_ check: UInt32) { sum = check ^ constant }

  /// Calls `body` with the CRC-32 of each window of a piece, until it returns false.
  ///
  /// - Parameters:
  ///   - leaving: the bytes at the beginnings of the windows.
  ///   - entering: as many bytes after their ends.
  /// - Returns: how far the window has moved.
  @inline(__always)
  mutating func move(
    leaving: UnsafeRawBufferPointer, entering: UnsafeRawBufferPointer, _ body: (UInt32) -> Bool
  ) -> Int {
    var sum = sum
    var moved = 0
    Self.table.withUnsafeBufferPointer { table in
      removal.withUnsafeBufferPointer { removal in
        while moved < leaving.count {
          sum =
            sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ entering[moved])]
            ^ removal[Int(leaving[moved])]
          moved += 1
          if !body(sum ^ constant) { return }
        }
      }
    }
    self.sum = sum
    return moved
  }
}
