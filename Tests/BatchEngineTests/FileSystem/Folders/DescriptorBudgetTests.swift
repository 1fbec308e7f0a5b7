import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct DescriptorBudgetTests {
  @Test(arguments: [(0, 2), (1, 2), (2, 2), (64, 64)]) func sufficesForOneFile(asked: Int, capacity: Int) {
    #expect(DescriptorBudget(capacity: asked).capacity == capacity)
  }

  @Test func sharesItsDescriptors() async throws {
    let budget = DescriptorBudget(capacity: 8)
    // A quarter is reserved for folders that stay open.
    #expect(budget.heldFolders.limit == 2)
    let everybody = Rendezvous(3)
    let crowd = Crowd()
    try await onThreads(12) { number in
      budget.withDescriptors(DescriptorBudget.tokensToRead) {
        crowd.enter(DescriptorBudget.tokensToRead)
        everybody.arrive()
        crowd.leave(DescriptorBudget.tokensToRead)
      }
    }
    #expect(crowd.most == 6)
  }
}
