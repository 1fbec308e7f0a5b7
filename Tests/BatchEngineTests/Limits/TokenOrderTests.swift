import Testing

@testable import BatchEngine

/// The check of the order is per thread, so each test runs on one thread from its beginning to its end.
@Suite struct TokenOrderTests {
  @Test func everythingMayBeTakenBetweenChunks() {
    #expect(TokenOrder.held == nil)
    #expect(TokenOrder.descriptors.mayBeTaken && TokenOrder.memory.mayBeTaken && TokenOrder.place.mayBeTaken)
  }

  @Test func aThreadThatHoldsMemoryMayTakePlacesOnly() {
    TokenOrder.held = .memory
    defer { TokenOrder.held = nil }
    #expect(!TokenOrder.descriptors.mayBeTaken && !TokenOrder.memory.mayBeTaken)
    TokenOrder.place.take()
    #expect(TokenOrder.held == .place)
    TokenOrder.place.take()
    #expect(!TokenOrder.descriptors.mayBeTaken && !TokenOrder.memory.mayBeTaken)
  }
}
