import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("Blocks of files") struct BlockListTests {
  private func list(_ bytes: [UInt8], seed: UInt64 = 7, pieces: Int = .max) -> BlockList {
    let hashes = BlockHashes(seed: seed, blockSize: 64 << 10)
    bytes.withUnsafeBytes { raw in
      var start = 0
      while start < raw.count {
        let end = min(raw.count, start + min(pieces, raw.count - start))
        hashes.update(UnsafeRawBufferPointer(rebasing: raw[start..<end]))
        start = end
      }
    }
    return hashes.finish()
  }

  @Test(
    "have the same hashes in pieces of any size, and zeros as holes have", arguments: [1000, 65_536, 70_001])
  func pieces(size: Int) {
    var bytes = [UInt8](repeating: 0, count: 400_001)
    for index in 0..<70_000 { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
    bytes[350_000] = 1
    #expect(list(bytes, pieces: size) == list(bytes))
    let hashes = BlockHashes(seed: 7, blockSize: 64 << 10)
    bytes.withUnsafeBytes { raw in
      hashes.update(UnsafeRawBufferPointer(rebasing: raw[..<70_000]))
      hashes.addZeros(280_000)
      hashes.update(UnsafeRawBufferPointer(rebasing: raw[350_000...]))
    }
    #expect(hashes.finish() == list(bytes))
    #expect(list(bytes, seed: 8) != list(bytes))
  }

  @Test(
    "differ where bytes differ, behind the end of the earlier version, and in a last block that has grown")
  func changes() {
    let bytes = [UInt8](repeating: 3, count: 200_000)
    var other = bytes + [1, 2]
    other[70_000] = 4
    let changes = list(other).changes(since: list(bytes))
    #expect(changes == [false, true, false, true])
    #expect(list(other).ranges(of: changes) == [65_536..<131_072, 196_608..<200_002])
    #expect(
      list(bytes + [UInt8](repeating: 0, count: 131_072)).changes(since: list(bytes)) == [
        false, false, false, true, true, true,
      ])
    #expect(list(Array(bytes[..<100_000])).changes(since: list(bytes)) == [false, true])
  }

  @Test("are small in small files, and a file that grows keeps them for a while") func sizes() {
    #expect(BlockList.blockSize(of: (4 << 20) - 1) == nil)
    #expect(BlockList.blockSize(of: 4 << 20) == 64 << 10)
    #expect(BlockList.blockSize(of: (4 << 30) - 1) == 64 << 10)
    #expect(BlockList.blockSize(of: 4 << 30) == 256 << 10)
    #expect(BlockList.blockSize(of: 64 << 30) == 1 << 20)
    let small = BlockList(size: 5 << 20, blockSize: 64 << 10, hashes: [])
    #expect(small.isComparable(with: 63 << 30) && !small.isComparable(with: 64 << 30))
    #expect(!small.isComparable(with: 1 << 20))
  }

  @Test("ranges of bytes: gaps and unions as for a set of numbers") func ranges() {
    var chance = SeededNumbers(seed: 4)
    for _ in 0..<300 {
      var ranges = ByteRanges()
      var all: Set<UInt64> = []
      for _ in 0..<Int.random(in: 0...8, using: &chance) {
        let start = UInt64.random(in: 0..<40, using: &chance)
        let end = start + UInt64.random(in: 0..<12, using: &chance)
        ranges.insert(start..<end)
        all.formUnion(start..<end)
      }
      let start = UInt64.random(in: 0..<50, using: &chance)
      let range = start..<(start + UInt64.random(in: 0..<20, using: &chance))
      #expect(Set(ranges.gaps(in: range).flatMap { Array($0) }) == Set(range).subtracting(all))
    }
  }
}
