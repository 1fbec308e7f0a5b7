import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct SummaryTextTests {
  @Test func tellsWhatWasDoneInOneLine() {
    let all = SummaryText(
      verb: "hashed", files: 44_128, bytes: 487_587_840,
      others: [(2, "skipped"), (0, "vanished"), (1, "failed")])
    #expect(
      all.line(seconds: 0.31) == "hashed 44,128 files, 465.0 MiB in 0.31 s (1.5 GiB/s); 2 skipped, 1 failed")
    let one = SummaryText(verb: "checked", files: 1, bytes: 0)
    #expect(one.line(seconds: 0) == "checked 1 file, 0 B in 0.00 s")
  }

  @Test func tellsWhatKindsWereSkipped() {
    var counts = Counters.Snapshot()
    #expect(counts.skippedWord == "skipped")
    counts.reasons = [
      .special(.socket): 1, .special(.fifo): 2, .special(.characterDevice): 1, .special(.symbolicLink): 3000,
      .upToDate: 1, .filtered: 12,
    ]
    #expect(
      counts.skippedWord
        == "skipped (3,000 symbolic links, 2 FIFOs, 1 socket, 1 character device, 12 filtered, 1 up to date)")
  }
}
