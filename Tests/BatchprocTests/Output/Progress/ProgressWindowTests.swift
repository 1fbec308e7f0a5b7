import Testing

@testable import batchproc

@Suite struct ProgressWindowTests {
  @Test func thereIsNoRateBeforeTimeHasPassed() {
    var window = ProgressWindow()
    #expect(window.work == nil)
    window.add(files: 3, bytes: 100, at: 0, isPaused: false)
    #expect(window.work == nil)
  }

  @Test func theFirstThirtySecondsCountTheWholeRun() {
    var window = ProgressWindow()
    for second in 1...20 {
      window.add(files: 2, bytes: Int64(second) * 10, at: Double(second), isPaused: false)
    }
    #expect(window.work == .init(files: 40, bytes: 200, seconds: 20))
  }

  @Test func laterOnlyTheLastThirtySecondsCount() {
    var window = ProgressWindow()
    var bytes: Int64 = 0
    // Fast for 100 s, then slow.
    for step in 1...1000 {
      bytes += step <= 500 ? 1000 : 1
      window.add(files: step <= 500 ? 10 : 1, bytes: bytes, at: Double(step) / 5, isPaused: false)
    }
    let work = window.work
    #expect(work.map { abs($0.seconds - 30) < 0.5 } == true)
    #expect(work.map { Double($0.bytes) / $0.seconds }.map { abs($0 - 5) < 0.01 } == true)
    #expect(work.map { Double($0.files) / $0.seconds }.map { abs($0 - 5) < 0.01 } == true)
  }

  @Test func thousandsOfAdditionsWithinAMomentAreOnePoint() {
    var window = ProgressWindow()
    for number in 1...100_000 {
      window.add(files: 1, bytes: Int64(number), at: Double(number) / 10_000, isPaused: false)
    }
    #expect(window.work == .init(files: 100_000, bytes: 100_000, seconds: window.work?.seconds ?? 0))
    #expect(window.work.map { abs($0.seconds - 10) < 1e-6 } == true)
  }

  @Test(arguments: [10.0, 3600]) func aPauseIsLeftOut(pause: Double) {
    var window = ProgressWindow()
    for second in 1...10 {
      window.add(files: 1, bytes: Int64(second), at: Double(second), isPaused: second == 10)
    }
    for look in 1...9 {
      window.add(files: 0, bytes: 10, at: 10 + pause * Double(look) / 10, isPaused: true)
    }
    window.add(files: 0, bytes: 10, at: 10 + pause, isPaused: false)
    #expect(window.work == .init(files: 10, bytes: 10, seconds: 10))
    window.add(files: 1, bytes: 11, at: 11 + pause, isPaused: false)
    #expect(window.work == .init(files: 11, bytes: 11, seconds: 11))
  }

  @Test func aStoppedClockChangesNothing() {
    var window = ProgressWindow()
    window.add(files: 1, bytes: 1, at: 5, isPaused: false)
    window.add(files: 1, bytes: 2, at: 4, isPaused: false)
    #expect(window.work == .init(files: 2, bytes: 2, seconds: 5))
  }
}
