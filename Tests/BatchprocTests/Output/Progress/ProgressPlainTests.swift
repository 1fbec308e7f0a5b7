import Testing

@testable import batchproc

@Suite struct ProgressPlainTests {
  @Test func printsALineAtEachTenth() {
    var plain = ProgressPlain()
    let told = (0...100).filter { done in
      var state = ProgressState(filesDone: done, filesTotal: 100, elapsed: 1)
      // All bytes are done but the run has not finished: 99 %.
      state.isFinished = done == 100
      return plain.line(for: state) != nil
    }
    #expect(told == [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
  }

  @Test func printsALineAfterAMinuteOfSilence() {
    var plain = ProgressPlain()
    let told = stride(from: 0.0, through: 200, by: 1).filter { second in
      plain.line(for: ProgressState(filesDone: 1, elapsed: second)) != nil
    }
    #expect(told == [60, 120, 180])
  }

  @Test func reportsAPauseWhenItBeginsAndOnceAMinute() {
    var plain = ProgressPlain()
    var lines: [Double: String] = [:]
    for second in stride(from: 0.0, through: 200, by: 1) {
      var state = ProgressState(filesDone: 1, filesTotal: 2, elapsed: second)
      // A second pause follows soon after the first one.
      if (10..<75).contains(second) || (80..<140).contains(second) { state.pause = "it is late" }
      lines[second] = plain.line(for: state)
    }
    #expect(lines[10] == "50 %: 0 B, 1 of 2 files, paused, it is late")
    #expect(lines.keys.sorted() == [0, 10, 70, 130, 190])
    #expect(lines[190]?.contains("paused") == false)
  }

  @Test func showsTheKnownValues() {
    var plain = ProgressPlain()
    let state = ProgressState(
      filesDone: 1_500, filesTotal: 2_000, bytesDone: 3 << 20, bytesTotal: 4 << 20, elapsed: 30)
    #expect(
      plain.line(for: state)
        == "75 %: 3.0 MiB of 4.0 MiB, 1,500 of 2,000 files, 102.4 KiB/s, 10.0 s left")
    #expect(plain.line(for: state) == nil)
  }
}
