import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The parts that a run decodes at a time")
struct PartBudgetTests {
  @Test("are two for each lane, shared by the files", arguments: [1, 2, 8])
  func share(concurrency: Int) throws {
    let budget = PartBudget()
    budget.begin()
    #expect(budget.share(concurrency: concurrency) == 2 * concurrency)
    budget.begin()
    #expect(budget.share(concurrency: concurrency) == max(1, concurrency / 2))
    for _ in 0..<100 { budget.begin() }
    #expect(budget.share(concurrency: concurrency) == 1)
    for _ in 0..<101 { budget.end() }
    #expect(budget.share(concurrency: concurrency) == 2 * concurrency)
  }

  @Test("share memory for contents that are larger than usual")
  func spare() {
    let budget = PartBudget()
    let most = 40 * (16 << 20)
    #expect(budget.reserve(64 << 20, concurrency: 1))
    #expect(!budget.reserve(1, concurrency: 1))
    #expect(budget.reserve(most - (64 << 20), concurrency: 40))
    #expect(!budget.reserve(1, concurrency: 40) && !budget.reserve(.max, concurrency: 40))
    budget.release(most)
    #expect(budget.reserve(64 << 20, concurrency: 2))
  }

  @Test("wait for one another when there are more", arguments: [1, 2])
  func waits(concurrency: Int) async throws {
    let budget = PartBudget()
    let crowd = Crowd()
    try await onThreads(6) { _ in
      for _ in 0..<50 {
        try? budget.with(2, concurrency: concurrency) { () throws(BatchError) in
          crowd.enter()
          crowd.leave()
        }
      }
    }
    #expect(crowd.most <= concurrency)
  }
}
