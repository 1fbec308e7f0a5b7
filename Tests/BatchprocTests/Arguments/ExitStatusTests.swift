import Testing

@testable import batchproc

@Suite struct ExitStatusTests {
  @Test func hasTheCodesOfTheContract() {
    #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 3, 4, 5, 11, 20, 64, 130, 143])
  }
}
