import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct TokenBudgetTests {
  @Test(arguments: [(-3, 1), (0, 1), (1, 1), (5, 5)]) func hasAtLeastOneToken(asked: Int, capacity: Int) {
    #expect(TokenBudget(capacity: asked).capacity == capacity)
  }

  @Test(arguments: [(-1, 0), (0, 0), (3, 3), (4, 4), (5, 4), (Int.max, 4)])
  func takesNoMoreThanThereIs(asked: Int, taken: Int) {
    let budget = TokenBudget(capacity: 4)
    #expect(budget.acquire(asked) == taken)
    budget.release(taken)
    // All tokens have been given back.
    #expect(budget.acquire(4) == 4)
    budget.release(4)
  }

  @Test func takesNothingWithoutWaiting() {
    let budget = TokenBudget(capacity: 2)
    let all = budget.acquire(2)
    #expect(budget.acquire(0) == 0)
    budget.release(all)
  }

  @Test func isNeverExceeded() async throws {
    let budget = TokenBudget(capacity: 5)
    let crowd = Crowd()
    try await onThreads(8) { number in
      var numbers = SeededNumbers(seed: UInt64(number))
      for _ in 0..<300 {
        let count = Int.random(in: 1...5, using: &numbers)
        budget.withTokens(count) {
          crowd.enter(count)
          crowd.leave(count)
        }
      }
    }
    #expect(crowd.most <= 5)
  }

  @Test func letsInAsManyAsThereAreTokens() async throws {
    let budget = TokenBudget(capacity: 6)
    let everybody = Rendezvous(3)
    try await onThreads(3) { _ in budget.withTokens(2) { everybody.arrive() } }
  }

  @Test func neverDeadlocksWhenTwoWantMoreThanHalf() async throws {
    let budget = TokenBudget(capacity: 4)
    let done = Atomic<Int>(0)
    try await onThreads(6) { _ in
      for _ in 0..<200 { budget.withTokens(3) { _ = done.add(1, ordering: .relaxed) } }
    }
    #expect(done.load(ordering: .relaxed) == 1200)
  }

  @Test func givesTokensBackAfterAnError() throws {
    let budget = TokenBudget(capacity: 2)
    for _ in 0..<3 {
      expectError(.unreadable) {
        try budget.withTokens(2) { () throws(BatchError) in throw BatchError(.unreadable, "no") }
      }
    }
    #expect(budget.withTokens(2) { 9 } == 9)
  }

  @Test func mayBeFreedWhileTokensAreOut() {
    let budget = TokenBudget(capacity: 8)
    #expect(budget.acquire(5) == 5)
  }
}
