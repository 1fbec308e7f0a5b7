import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct SummaryTextTests {
  @Test func reportsTheResultInOneLine() {
    let all = SummaryText(
      verb: "hashed", files: 44_128, bytes: 487_587_840,
      others: [(2, "skipped"), (0, "vanished"), (1, "failed")])
    #expect(
      all.line(seconds: 0.31) == "hashed 44,128 files, 465.0 MiB in 0.31 s (1.5 GiB/s); 2 skipped, 1 failed")
    let one = SummaryText(verb: "checked", files: 1, bytes: 0)
    #expect(one.line(seconds: 0) == "checked 1 file, 0 B in 0.00 s")
    #expect(SummaryText(verb: "hashed", files: 0, bytes: 0).line(seconds: 0) == "hashed 0 files in 0.00 s")
  }

  @Test func givesNoRateForAVeryShortRun() {
    let text = SummaryText(verb: "hashed", files: 2, bytes: 1 << 20)
    #expect(text.line(seconds: 0.09) == "hashed 2 files, 1.0 MiB in 0.09 s")
    #expect(text.line(seconds: 0.1) == "hashed 2 files, 1.0 MiB in 0.10 s (10.0 MiB/s)")
  }

  @Test func saysHowTheSizeChanged() {
    let archived = SummaryText(
      verb: "archived", files: 79, bytes: 1 << 20, output: 195 << 10,
      kinds: [(3, "folder"), (1, "link"), (0, "special file")])
    #expect(
      archived.line(seconds: 0.05)
        == "archived 79 files, 3 folders, 1 link: 1.0 MiB -> 195.0 KiB (19 %) in 0.05 s")
    let larger = SummaryText(verb: "decompressed", files: 1, bytes: 140_186, output: 1_024_307)
    #expect(larger.line(seconds: 0) == "decompressed 1 file: 136.9 KiB -> 1000.3 KiB in 0.00 s")
    let nothing = SummaryText(verb: "compressed", files: 0, bytes: 0, output: 0, others: [(3, "skipped")])
    #expect(nothing.line(seconds: 0) == "compressed 0 files in 0.00 s; 3 skipped")
  }

  @Test func saysWhichKindsWereSkipped() {
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
