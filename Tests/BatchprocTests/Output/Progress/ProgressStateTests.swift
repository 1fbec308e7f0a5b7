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

  @Test func estimatesTheEndFromTheLastPart() {
    var state = ProgressState(
      filesDone: 50, filesTotal: 100, bytesDone: 600, bytesTotal: 1000, elapsed: 5000,
      recent: .init(files: 10, bytes: 100, seconds: 30))
    #expect(state.secondsLeft(at: 0.5) == 150, "half of the bytes at 100 in 30 s")
    #expect(state.parts(at: 0.5).rate == "3 B/s" && state.parts(at: 0.5).time == "2m30s left")
    state.bytesTotal = nil
    #expect(state.secondsLeft(at: 0.5) == 150, "half of the files at 10 in 30 s")
    state.recent?.files = 0
    #expect(state.secondsLeft(at: 0.5) == nil, "nothing moves")
  }
}
