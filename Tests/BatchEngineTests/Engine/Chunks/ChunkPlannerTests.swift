import TestSupport
import Testing

@testable import BatchEngine

@Suite struct ChunkPlannerTests {
  /// The chunks of a list in which each item is its own weight.
  private static func chunks(_ weights: [Int64], _ stride: ChunkStride) -> [Chunk<Int64>] {
    var planner = ChunkPlanner<Int64, Never>(stride: stride)
    var chunks = [Chunk<Int64>]()
    for weight in weights {
      guard let chunk = planner.add(.item(weight), ItemMeasure(weight: weight)) else { continue }
      chunks.append(chunk.chunk)
      if let large = planner.takeLarge() { chunks.append(large.chunk) }
    }
    if let rest = planner.takeRest() { chunks.append(rest.chunk) }
    return chunks
  }

  private static func plan(_ weights: [Int64], _ stride: ChunkStride) -> [[Int64]] {
    chunks(weights, stride).map(\.items)
  }

  private static let small = ChunkStride(count: 3, byteCount: 100, largeThreshold: 1000)

  @Test func endsAChunkAtItsCount() {
    #expect(Self.plan([1, 1, 1, 1, 1, 1, 1], Self.small) == [[1, 1, 1], [1, 1, 1], [1]])
  }

  @Test func endsAChunkWithTheItemThatReachesItsBytes() {
    #expect(Self.plan([99, 1, 5, 500, 1], Self.small) == [[99, 1], [5, 500], [1]])
  }

  @Test func putsALargeItemAlone() {
    let chunks = Self.chunks([1, 1000, 2, 999, 3], Self.small)
    #expect(chunks.map(\.items) == [[1], [1000], [2, 999], [3]])
    #expect(chunks.map(\.isLarge) == [false, true, false, false])
    #expect(chunks.map(\.byteCount) == [1, 1000, 1001, 3])
    #expect(chunks.map(\.index) == [0, 1, 2, 3])
  }

  @Test func keepsLargeItemsInOrderWithTheOthers() {
    #expect(Self.plan([5000, 6000, 1, 7000], Self.small) == [[5000], [6000], [1], [7000]])
  }

  @Test("An automatic chunk has at most 32 files, or a 32nd of those before it, and in the end 256")
  func growsSlowly() {
    var before = 0
    for chunk in Self.chunks([Int64](repeating: 1, count: 30_000), .automatic).dropLast() {
      #expect(chunk.items.count >= 32 && chunk.items.count <= max(32, before / 32))
      before += chunk.items.count
    }
    #expect(ChunkStride.automatic.count(at: 1000) == 256)
  }

  @Test func makesNoChunkOfNothing() {
    #expect(Self.plan([], Self.small).isEmpty)
  }

  @Test func countsAnUnknownWeightAsZero() {
    let chunks = Self.chunks([-1, .min, 0, 4], Self.small)
    #expect(chunks.map(\.items) == [[-1, .min, 0], [4]])
    #expect(chunks.map(\.byteCount) == [0, 4])
  }

  @Test func survivesWeightsThatOverflow() {
    let stride = ChunkStride(count: 10, byteCount: .max, largeThreshold: .max)
    let chunks = Self.chunks([.max - 1, .max - 1, 7, .max], stride)
    #expect(chunks.map(\.items) == [[.max - 1, .max - 1], [7], [.max]])
    #expect(chunks[0].byteCount == .max)
  }

  @Test(arguments: [(-5, 1), (0, 1), (1, 1), (9, 9)]) func takesAStrideOfOneOrMore(asked: Int, count: Int) {
    #expect(ChunkStride.fixed(asked).count == count)
  }

  @Test func addsUpTheMeasuresOfItems() {
    var planner = ChunkPlanner<Int, Never>(stride: .fixed(3))
    var chunks = [Chunk<Int>]()
    for (count, retained) in [(1, Int64(10)), (0, 20), (1, .max), (1, 5)] {
      if let chunk = planner.add(.item(0), ItemMeasure(weight: 0, count: count, retained: retained)) {
        chunks.append(chunk.chunk)
      }
    }
    if let rest = planner.takeRest() { chunks.append(rest.chunk) }
    #expect(chunks.map(\.pathCount) == [2, 1])
    #expect(chunks.map(\.retained) == [.max, 5])
  }

  @Test("counts rows and problems as items, so that a chunk does not depend on which of them a source yields")
  func asides() {
    let problem = Yielded<Int, Int>.problem(Problem(BatchError(.missing, "gone")))
    var planner = ChunkPlanner<Int, Int>(stride: ChunkStride(count: 3, byteCount: 100, largeThreshold: 1000))
    var chunks = [PlannedChunk<Int, Int>]()
    let yielded: [(Yielded<Int, Int>, Int64)] = [
      (.row(10), 0), (.item(1), 1), (problem, 0), (.row(11), 0), (.item(2), 1000), (.row(12), 100),
      (problem, 0),
    ]
    for (step, weight) in yielded {
      if let chunk = planner.add(step, ItemMeasure(weight: weight)) { chunks.append(chunk) }
      if let large = planner.takeLarge() { chunks.append(large) }
    }
    if let rest = planner.takeRest() { chunks.append(rest) }
    #expect(planner.takeRest() == nil)
    #expect(chunks.map(\.count) == [3, 1, 1, 1, 1])
    #expect(chunks.map(\.chunk.items) == [[1], [], [2], [], []])
    #expect(chunks.map { $0.asides.map(\.position) } == [[0, 1], [0], [], [0], [0]])
    #expect(chunks.map(\.chunk.isLarge) == [false, false, true, false, false])
  }

  @Test(arguments: 0..<40 as Range<UInt64>) func coversItsItemsInOrder(seed: UInt64) {
    var numbers = SeededNumbers(seed: seed)
    let stride = ChunkStride(
      count: Int.random(in: 1...50, using: &numbers), byteCount: Int64.random(in: 1...5000, using: &numbers),
      largeThreshold: Int64.random(in: 1...8000, using: &numbers))
    let weights = (0..<Int.random(in: 0...600, using: &numbers)).map { _ in
      Int64.random(in: -10...(Bool.random(using: &numbers) ? 100 : 10_000), using: &numbers)
    }
    let chunks = Self.chunks(weights, stride)
    #expect(chunks.flatMap(\.items) == weights)
    #expect(chunks.map(\.index) == Array(chunks.indices))
    for chunk in chunks {
      #expect(!chunk.items.isEmpty && chunk.items.count <= stride.count)
      #expect(chunk.byteCount == chunk.items.reduce(0) { $0 + max(0, $1) })
      // Without its last item a chunk is below the byte limit; otherwise it would have ended earlier.
      #expect(chunk.items.dropLast().reduce(0) { $0 + max(0, $1) } < stride.byteCount)
      #expect(chunk.isLarge == chunk.items.contains { $0 >= stride.largeThreshold })
      if chunk.isLarge { #expect(chunk.items.count == 1) }
    }
  }
}
