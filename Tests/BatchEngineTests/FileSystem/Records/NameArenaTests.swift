import Testing

@testable import BatchEngine

@Suite struct NameArenaTests {
  private static func name(_ arena: NameArena, _ offset: Int) -> [UInt8] {
    arena.withName(at: offset) { Array($0) }
  }

  @Test func keepsNamesApart() {
    let arena = NameArena(Array("first".utf8) + [0] + Array("second".utf8) + [0])
    #expect(Self.name(arena, 0) == Array("first".utf8))
    #expect(Self.name(arena, 6) == Array("second".utf8))
  }

  @Test func keepsEveryByteOfAName() {
    let bytes = (1...255).map { UInt8($0) }
    #expect(Self.name(NameArena(name: bytes), 0) == bytes)
  }

  @Test func boundsTheLastName() {
    #expect(Self.name(NameArena(Array("open".utf8)), 0) == Array("open".utf8))
    #expect(Self.name(NameArena([]), 0) == [])
  }

  @Test func goesThroughAllNames() {
    for names in [[[1]], [[1, 2], [3], [255, 254]], [Array("open".utf8)]] as [[[UInt8]]] {
      for end in [[0], []] as [[UInt8]] {
        var found: [[UInt8]] = []
        NameArena(Array(names.joined(separator: [0])) + end).forEach { found.append(Array($0)) }
        #expect(found == names)
      }
    }
  }
}
