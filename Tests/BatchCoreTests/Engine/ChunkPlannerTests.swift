import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ChunkPlannerTests {
  /// The chunks of a list whose items are their own weights.
  private static func chunks(_ weights: [Int64], _ stride: ChunkStride) throws -> [Chunk<Int64>] {
    var rest = weights[...]
    var planner = ChunkPlanner<Int64>(stride: stride, measure: { ItemMeasure(weight: $0) }) {
      () throws(BatchError) in
      rest.popFirst()
    }
    var chunks = [Chunk<Int64>]()
    while let planned = try planner.next() { chunks.append(planned.chunk) }
    return chunks
  }

  private static func plan(_ weights: [Int64], _ stride: ChunkStride) throws -> [[Int64]] {
    try chunks(weights, stride).map(\.items)
  }

  private static let small = ChunkStride(count: 3, byteCount: 100, largeThreshold: 1000)

  @Test func endsAChunkAtItsCount() throws {
    #expect(try Self.plan([1, 1, 1, 1, 1, 1, 1], Self.small) == [[1, 1, 1], [1, 1, 1], [1]])
  }

  @Test func endsAChunkWithTheItemThatReachesItsBytes() throws {
    #expect(try Self.plan([99, 1, 5, 500, 1], Self.small) == [[99, 1], [5, 500], [1]])
  }

  @Test func putsALargeItemAlone() throws {
    let chunks = try Self.chunks([1, 1000, 2, 999, 3], Self.small)
    #expect(chunks.map(\.items) == [[1], [1000], [2, 999], [3]])
    #expect(chunks.map(\.isLarge) == [false, true, false, false])
    #expect(chunks.map(\.byteCount) == [1, 1000, 1001, 3])
    #expect(chunks.map(\.index) == [0, 1, 2, 3])
  }

  @Test func keepsLargeItemsInOrderWithTheOthers() throws {
    #expect(try Self.plan([5000, 6000, 1, 7000], Self.small) == [[5000], [6000], [1], [7000]])
  }

  @Test func makesNoChunkOfNothing() throws {
    #expect(try Self.plan([], Self.small).isEmpty)
  }

  @Test func countsAnUnknownWeightAsNone() throws {
    let chunks = try Self.chunks([-1, .min, 0, 4], Self.small)
    #expect(chunks.map(\.items) == [[-1, .min, 0], [4]])
    #expect(chunks.map(\.byteCount) == [0, 4])
  }

  @Test func survivesWeightsThatDoNotFit() throws {
    let stride = ChunkStride(count: 10, byteCount: .max, largeThreshold: .max)
    let chunks = try Self.chunks([.max - 1, .max - 1, 7, .max], stride)
    #expect(chunks.map(\.items) == [[.max - 1, .max - 1], [7], [.max]])
    #expect(chunks[0].byteCount == .max)
  }

  @Test(arguments: [(-5, 1), (0, 1), (1, 1), (9, 9)]) func takesAStrideOfOneOrMore(asked: Int, count: Int) {
    #expect(ChunkStride.fixed(asked).count == count)
  }

  @Test func addsUpWhatTheSourceSaysOfItems() throws {
    var rest = [(1, Int64(10)), (0, 20), (1, .max), (1, 5)][...]
    var planner = ChunkPlanner<(Int, Int64)>(
      stride: .fixed(3), measure: { ItemMeasure(weight: 0, count: $0.0, retained: $0.1) }
    ) { () throws(BatchError) in
      rest.popFirst()
    }
    let first = try planner.next()
    #expect(first?.pathCount == 2 && first?.retained == .max)
    let last = try planner.next()
    #expect(last?.pathCount == 1 && last?.retained == 5)
  }

  @Test func passesAnErrorOfTheSourceOn() {
    var planner = ChunkPlanner<Int>(stride: .fixed(2), measure: { _ in ItemMeasure(weight: 0) }) {
      () throws(BatchError) in
      throw BatchError(.malformed, "line 3")
    }
    #expect(throws: BatchError(.malformed, "line 3")) { try planner.next() }
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func coversItsItemsInOrder(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let stride = ChunkStride(
      count: Int.random(in: 1...50, using: &numbers), byteCount: Int64.random(in: 1...5000, using: &numbers),
      largeThreshold: Int64.random(in: 1...8000, using: &numbers))
    let weights = (0..<Int.random(in: 0...600, using: &numbers)).map { _ in
      Int64.random(in: -10...(Bool.random(using: &numbers) ? 100 : 10_000), using: &numbers)
    }
    let chunks = try Self.chunks(weights, stride)
    #expect(chunks.flatMap(\.items) == weights)
    #expect(chunks.map(\.index) == Array(chunks.indices))
    for chunk in chunks {
      #expect(!chunk.items.isEmpty && chunk.items.count <= stride.count)
      #expect(chunk.byteCount == chunk.items.reduce(0) { $0 + max(0, $1) })
      // Without its last item a chunk is below its bytes: else it would have ended before.
      #expect(chunk.items.dropLast().reduce(0) { $0 + max(0, $1) } < stride.byteCount)
      #expect(chunk.isLarge == chunk.items.contains { $0 >= stride.largeThreshold })
      if chunk.isLarge { #expect(chunk.items.count == 1) }
    }
  }
}
