import Testing

@testable import BatchEngine

@Suite struct StallWatchTests {
  /// Calls `look` once for each of these seconds.
  ///
  /// - Returns: each finding, with its second.
  private func looks(
    _ watch: inout StallWatch, _ seconds: ClosedRange<UInt64>, hasMoved: Bool = false, isHeld: Bool = false
  ) -> [UInt64: StallWatch.Finding] {
    var findings: [UInt64: StallWatch.Finding] = [:]
    for second in seconds {
      findings[second] = watch.look(at: second * 1000, hasMoved: hasMoved, isHeld: isHeld)
    }
    return findings
  }

  @Test func aStallIsReportedOnceUntilThereIsProgress() {
    var watch = StallWatch(warning: 600, timeout: 0)
    #expect(looks(&watch, 1...600).isEmpty)
    #expect(looks(&watch, 601...3000) == [601: .stalled(600_000)])
    #expect(looks(&watch, 3001...3001, hasMoved: true).isEmpty)
    #expect(looks(&watch, 3002...4000) == [3601: .stalled(600_000)])
  }

  @Test func withoutLimitsNoStallIsReported() {
    var watch = StallWatch(warning: 0, timeout: 0)
    #expect(looks(&watch, 1...100_000).isEmpty)
  }

  @Test func timeInWhichTheRunIsHeldDoesNotCount() {
    var watch = StallWatch(warning: 10, timeout: 20)
    #expect(looks(&watch, 1...9).isEmpty)
    #expect(looks(&watch, 10...5000, isHeld: true).isEmpty)
    #expect(looks(&watch, 5001...5012) == [5010: .stalled(10_000)])
  }

  @Test func timeInWhichTheProcessWasStoppedDoesNotCount() {
    var watch = StallWatch(warning: 600, timeout: 900)
    #expect(looks(&watch, 1...10).isEmpty)
    #expect(watch.look(at: 10_000_000, hasMoved: false, isHeld: false) == nil)
    // A clock that goes back adds no time.
    #expect(watch.look(at: 5, hasMoved: false, isHeld: false) == nil)
  }

  @Test(arguments: [(0, false), (5, true), (30, false)] as [(Int64, Bool)])
  func aRunIsCancelledThenTheProcessEnded(warning: Int64, isTold: Bool) {
    var watch = StallWatch(warning: warning, timeout: 20)
    let found = looks(&watch, 1...41)
    #expect(found[21] == .overdue(20_000, isTold: isTold))
    #expect(found[41] == .stuck)
    #expect(found.count == (isTold ? 3 : 2))
  }

  @Test func aCancelledRunThatMakesProgressEndsByItself() {
    var watch = StallWatch(warning: 0, timeout: 2)
    #expect(looks(&watch, 1...3) == [3: .overdue(2000, isTold: false)])
    for second: UInt64 in 4...1000 {
      #expect(watch.look(at: second * 1000, hasMoved: second % 2 == 0, isHeld: false) == nil)
    }
    // A hook at the end of the run holds the watch for as long as it runs.
    #expect(looks(&watch, 1001...9000, isHeld: true).isEmpty)
  }

  @Test func aLongLimitLeavesAMinuteForTheEnd() {
    var watch = StallWatch(warning: 0, timeout: 86_400)
    let found = looks(&watch, 1...86_461)
    #expect(found == [86_401: .overdue(86_400_000, isTold: false), 86_461: .stuck])
  }

  @Test func aLimitThatOverflowsIsNoLimit() {
    var watch = StallWatch(warning: .max, timeout: .max)
    #expect(looks(&watch, 1...10).isEmpty)
  }

  @Test func eachCheckOfTheCancellationIsAStep() throws {
    let cancellation = Cancellation()
    #expect(!cancellation.activity.takeNote())
    try cancellation.check()
    #expect(cancellation.activity.takeNote())
    #expect(!cancellation.activity.takeNote())
    cancellation.activity.whileWaiting { #expect(cancellation.activity.isWaiting) }
    #expect(!cancellation.activity.isWaiting)
  }
}
