import Testing

@testable import batchproc

@Suite struct ProgressStateTests {
  @Test func measuresByBytesAndElseByFiles() {
    #expect(ProgressState(filesDone: 1).fraction == nil)
    #expect(ProgressState(filesDone: 1, filesTotal: 4).fraction == 0.25)
    #expect(ProgressState(filesDone: 1, filesTotal: 4, bytesDone: 1, bytesTotal: 2).fraction == 0.5)
    #expect(ProgressState(filesDone: 1, filesTotal: 4, bytesTotal: 0).fraction == 0.25)
    #expect(ProgressState(filesDone: 9, filesTotal: 4).fraction == 1)
    #expect(ProgressState(isFinished: true).fraction == 1)
  }

  @Test func estimatesTheEndFromTheAverage() {
    let state = ProgressState(filesDone: 1, filesTotal: 4, elapsed: 10)
    #expect(state.secondsLeft(at: 0.25) == 30)
    #expect(state.secondsLeft(at: nil) == nil)
    #expect(state.secondsLeft(at: 0) == nil)
    #expect(ProgressState(elapsed: 0).secondsLeft(at: 0.5) == nil)
    #expect(ProgressState(elapsed: 5, isFinished: true).secondsLeft(at: 1) == nil)
  }
}
