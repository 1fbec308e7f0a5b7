import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct CountersTests {
  @Test func beginsAtZero() {
    #expect(Counters().snapshot == Counters.Snapshot())
  }

  @Test func countsEachValueSeparately() {
    let counters = Counters()
    counters.addSeen(10)
    for _ in 0..<2 { counters.addDone() }
    for _ in 0..<3 { counters.addFailed() }
    for _ in 0..<4 { counters.addSkipped(.upToDate) }
    for kind in [.fifo, .socket, .fifo] as [FileStatus.Kind] { counters.addSkipped(.special(kind)) }
    counters.addFiltered(5)
    counters.addMissing()
    counters.addChanged()
    counters.addBytes(1 << 40)
    var expected = Counters.Snapshot()
    expected.seen = 15
    expected.done = 2
    expected.failed = 3
    expected.skipped = 12
    expected.reasons = [.special(.fifo): 2, .special(.socket): 1, .upToDate: 4, .filtered: 5]
    expected.missing = 1
    expected.changed = 1
    expected.byteCount = 1 << 40
    #expect(counters.snapshot == expected)
  }

  @Test func turnsADoneFileIntoAFailedOne() {
    let counters = Counters()
    counters.addDone()
    counters.addDone()
    counters.withdrawDone()
    #expect(counters.snapshot.done == 1)
    #expect(counters.snapshot.failed == 1)
  }

  @Test func staysAtTheLargestNumberOfBytes() {
    let counters = Counters()
    for bytes in [1, Int.max - 1, 1, Int.max, Int.max, 5] { counters.addBytes(bytes) }
    #expect(counters.snapshot.byteCount == .max)
    for _ in 0..<3 { counters.addPending(.max) }
    for _ in 0..<3 { counters.addBytes(ofBlock: .max) }
    #expect(counters.pending == 0 && counters.progress.bytes == .max)
  }

  @Test func losesNoCountWithManyThreads() async throws {
    let counters = Counters()
    try await onThreads(4) { _ in
      for _ in 0..<5000 {
        counters.addSeen(2)
        counters.addDone()
        counters.addBytes(3)
      }
    }
    #expect(counters.snapshot.seen == 40_000)
    #expect(counters.snapshot.done == 20_000)
    #expect(counters.snapshot.byteCount == 60_000)
  }
}
