import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct MemoryBudgetTests {
  @Test func countsInPages() async throws {
    // One byte more than a page takes two pages, so two of them fill four pages.
    let budget = MemoryBudget(capacity: 4 * MemoryBudget.pageSize)
    let pair = Rendezvous(2)
    let crowd = Crowd()
    try await onThreads(6) { _ in
      budget.take(MemoryBudget.pageSize + 1)
      crowd.enter()
      pair.arrive()
      crowd.leave()
      budget.giveBack(MemoryBudget.pageSize + 1)
    }
    #expect(crowd.most == 2)
  }

  @Test(arguments: [0, 1, MemoryBudget.pageSize, 1 << 40, Int.max])
  func grantsARequestAboveItsCapacityToOneTaker(byteCount: Int) {
    let budget = MemoryBudget(capacity: 1)
    for _ in 0..<2 {
      budget.take(byteCount)
      budget.giveBack(byteCount)
    }
    #expect(!budget.isAwaited)
  }
}
