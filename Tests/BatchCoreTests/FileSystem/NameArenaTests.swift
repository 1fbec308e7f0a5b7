import Testing

@testable import BatchCore

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
}
