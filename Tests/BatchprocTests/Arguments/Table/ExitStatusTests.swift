import BatchCore
import Testing

@testable import batchproc

@Suite struct ExitStatusTests {
  @Test func hasTheCodesOfTheContract() {
    #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 3, 4, 5, 11, 20, 64, 130, 143])
  }

  @Test(
    "of several findings the status is that of the first one in the order of the contract",
    arguments: [
      ([], 0), ([.someFailed, .differences, .incomplete, .nothing, .budgetReached], 1),
      ([.someFailed, .differences, .incomplete, .budgetReached], 5),
      ([.someFailed, .differences, .budgetReached], 4),
      ([.someFailed, .budgetReached], 3),
      (.budgetReached, 20),
    ] as [(CallVerdict, Int32)])
  func order(verdict: CallVerdict, expected: Int32) { #expect(ExitStatus(verdict).rawValue == expected) }
}
