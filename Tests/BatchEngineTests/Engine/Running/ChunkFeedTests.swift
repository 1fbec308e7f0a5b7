import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct ChunkFeedTests {
  @Test func givesEachChunkToOneOfManyThreads() async throws {
    let feed = ChunkFeed(source: ListSource(0..<1000), stride: .fixed(7))
    let chunks = Recorder<Chunk<Int>>()
    try await onThreads(4) { _ in
      while let portion = try? feed.next() { chunks.record(portion.chunk) }
    }
    let sorted = chunks.values.sorted { $0.index < $1.index }
    #expect(sorted.map(\.index) == Array(0..<143))
    #expect(sorted.flatMap(\.items) == Array(0..<1000))
  }

  @Test func weighsByTheSource() throws {
    let feed = ChunkFeed(
      source: ListSource([1, 2, 3], weigh: { $0 == 2 ? 100 << 20 : 1 }), stride: .automatic)
    var sizes = [Int]()
    while let portion = try feed.next() { sizes.append(portion.chunk.items.count) }
    #expect(sizes == [1, 1, 1])
  }

  /// Counts how often its next item is asked for.
  private struct CountingSource: BatchSource {
    let asked: Recorder<Void>

    mutating func next() -> Yielded<Int, Never>? {
      asked.record(())
      return asked.values.count == 1 ? .item(1) : nil
    }

    func weight(of item: Int) -> Int64 { 0 }
  }

  @Test func asksNoMoreAfterTheEnd() throws {
    let asked = Recorder<Void>()
    let feed = ChunkFeed(source: CountingSource(asked: asked), stride: .fixed(2))
    #expect(try feed.next()?.chunk.items == [1])
    #expect(try feed.next() == nil)
    #expect(try feed.next() == nil)
    #expect(asked.values.count == 2)
  }

  @Test func rethrowsAnErrorOfTheSource() {
    let error = BatchError(.malformed, "line 3")
    let feed = ChunkFeed(source: ListSource([1], failure: error), stride: .fixed(2))
    #expect(throws: error) { try feed.next() }
  }
}
