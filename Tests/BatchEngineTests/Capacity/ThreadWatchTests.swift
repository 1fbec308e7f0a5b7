import Testing

@testable import BatchEngine

@Suite struct ThreadWatchTests {
  @Test func givesUpAfterTenLooksWithoutProgress() {
    var patience = ThreadWatch.Patience()
    let answers = (0..<12).map { _ in patience.isOver(progress: 7, isShort: true) }
    #expect(answers.firstIndex(of: true) == 10)
  }

  @Test("A check that may continue a count looks for the waiting thread five times, and otherwise once")
  func looksAgainWhileItCounts() {
    var patience = ThreadWatch.Patience()
    #expect(patience.tries == 1)
    _ = patience.isOver(progress: 7, isShort: true)
    #expect(patience.tries == 1, "the first check has nothing to compare the progress with")
    _ = patience.isOver(progress: 7, isShort: true)
    #expect(patience.tries == 5)
    _ = patience.isOver(progress: 8, isShort: true)
    #expect(patience.tries == 1)
  }

  @Test("Progress, or a thread that could be started, restarts the count")
  func startsAgain() {
    var patience = ThreadWatch.Patience()
    var answers: [Bool] = []
    for round in 0..<5 {
      for _ in 0..<9 { answers.append(patience.isOver(progress: Int64(round), isShort: true)) }
    }
    for _ in 0..<5 {
      for look in 0..<9 { answers.append(patience.isOver(progress: 9, isShort: look > 0)) }
    }
    #expect(!answers.contains(true))
  }
}
