/// Finds the blocks of a set by their checksums.
struct BlockLookup: Sendable {
  private let blocks: [UInt32: [Int]]
  private let checksums: [BlockChecksum?]
  /// A bit for each value of the low 16 bits of a CRC-32, since most windows are no block.
  private let filter: [UInt64]

  init(_ set: ParitySet) {
    var checksums = [BlockChecksum?](repeating: nil, count: set.blockCount)
    var blocks: [UInt32: [Int]] = [:]
    var filter = [UInt64](repeating: 0, count: 1024)
    for member in set.members {
      for (block, sum) in zip(member.blocks, member.checksums ?? []) {
        checksums[block] = sum
        blocks[sum.check, default: []].append(block)
        filter[Int(sum.check >> 6 & 1023)] |= 1 << UInt64(sum.check & 63)
      }
    }
    (self.checksums, self.blocks, self.filter) = (checksums, blocks, filter)
  }

  /// Nil for a block of unknown checksums.
  func checksum(of block: Int) -> BlockChecksum? { checksums[block] }

  @inline(__always)
  func mayHave(_ check: UInt32) -> Bool { filter[Int(check >> 6 & 1023)] >> UInt64(check & 63) & 1 != 0 }

  func has(_ check: UInt32) -> Bool { blocks[check] != nil }

  /// The blocks with these checksums.
  func blocks(_ sum: BlockChecksum) -> [Int] {
    (blocks[sum.check] ?? []).filter { checksums[$0] == sum }
  }
}
