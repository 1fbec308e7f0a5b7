import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct LargeMemberTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  private func member(size: Int, map: [Range<UInt64>]?, blockSize: Int) throws -> LargeMember {
    try fixture.file("f", size: size)
    return LargeMember(try fixture.record("f"), dataMap: map, blockSize: blockSize)
  }

  @Test func cutsAFileIntoBlocks() throws {
    let member = try member(size: 2500, map: nil, blockSize: 1000)
    #expect(member.storedSize == 2500 && member.blockCount == 3)
    #expect(member.ranges(ofBlock: 0) == [0..<1000])
    #expect(member.ranges(ofBlock: 2) == [2000..<2500])
    #expect(member.ranges(ofBlock: 3) == [])
    #expect(try self.member(size: 2000, map: nil, blockSize: 1000).blockCount == 2)
  }

  @Test func cutsTheDataOfASparseFile() throws {
    let map: [Range<UInt64>] = [100..<400, 600..<700, 1000..<2000]
    let member = try member(size: 3000, map: map, blockSize: 500)
    #expect(member.storedSize == 1400 && member.blockCount == 3 && member.size == 3000)
    #expect(member.ranges(ofBlock: 0) == [100..<400, 600..<700, 1000..<1100])
    #expect(member.ranges(ofBlock: 1) == [1100..<1600])
    #expect(member.ranges(ofBlock: 2) == [1600..<2000])
  }

  @Test func coversAllDataOnce() throws {
    var numbers = SeededNumbers(seed: 3)
    for _ in 0..<50 {
      var map: [Range<UInt64>] = []
      var position: UInt64 = 0
      for _ in 0..<Int.random(in: 1...9, using: &numbers) {
        position += UInt64.random(in: 1...300, using: &numbers)
        let end = position + UInt64.random(in: 1...300, using: &numbers)
        map.append(position..<end)
        position = end
      }
      let member = try member(
        size: Int(position), map: map, blockSize: Int.random(in: 1...400, using: &numbers))
      let bytes = (0..<member.blockCount).flatMap { member.ranges(ofBlock: $0) }.flatMap { Array($0) }
      #expect(bytes == map.flatMap { Array($0) })
      #expect(bytes.count == Int(member.storedSize))
    }
  }
}
