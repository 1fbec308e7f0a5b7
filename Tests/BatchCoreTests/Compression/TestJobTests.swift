import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A job that tests", .timeLimit(.minutes(1)))
struct TestJobTests {
  private let fixture: TreeFixture

  init() throws {
    fixture = try TreeFixture()
    let text = SampleContent.text.bytes(20_000)
    let whole = try CompressionFormat.gz.compressed(text)
    var flipped = whole
    flipped[whole.count - 8] ^= 1
    try fixture.file("a.gz", whole)
    try fixture.file("b-without-suffix", CompressionFormat.xz.compressed(text))
    try fixture.file("cut.gz", Array(whole.dropLast(5)))
    try fixture.file("empty", "")
    try fixture.file("empty.zst", "")
    try fixture.file("flipped.gz", flipped)
    try fixture.file("garbage.gz", whole + [1, 2])
    try fixture.file("plain", "plain")
    try fixture.file("plain.lz4", "plain")
    try fixture.fifo("z.fifo")
  }

  private func run(
    _ operands: [PathBytes], concurrency: Int = 2, calls: any FileSystemCalls = LinuxCalls()
  ) -> (findings: [String], counts: Counters.Snapshot) {
    let findings = Recorder<String>()
    let fixture = fixture
    var options = BatchOptions()
    options.concurrency = concurrency
    options.stride = .fixed(2)
    let runner = BatchRunner(options: options, observer: ProblemRecorder(), calls: calls)
    let job = TestJob(DecoderOptions()) { (found) throws(BatchError) in
      for finding in found {
        findings.record("\(fixture.relative(finding.path)) \(finding.damage?.kind.rawValue ?? "whole")")
      }
    }
    let summary = runner.run(job, over: runner.tree(operands.map { fixture.path($0) }))
    return (findings.values, summary.counts)
  }

  @Test(
    "reports the state of each compressed file, in order, at every concurrency", arguments: [1, 2, 7, 32])
  func findings(concurrency: Int) {
    let result = run([""], concurrency: concurrency)
    #expect(
      result.findings == [
        "a.gz whole", "b-without-suffix whole", "cut.gz truncated", "empty.zst truncated",
        "flipped.gz checksum",
        "garbage.gz garbageAfterEnd", "plain.lz4 notCompressed",
      ])
    #expect(result.counts.done == 7 && result.counts.skipped == 3 && result.counts.seen == 10)
  }

  @Test("reports each operand")
  func operands() {
    #expect(run(["plain", "empty"]).findings == ["plain notCompressed", "empty truncated"])
  }

  @Test("reports an unreadable file as the policies say, and not as damaged")
  func unreadable() {
    let calls = FaultyCalls()
    calls.on(.open, "a.gz", .fail(13))
    let result = run([""], calls: calls)
    #expect(!result.findings.contains { $0.hasPrefix("a.gz") })
    #expect(result.counts.failed == 1 && result.counts.done == 6)
  }
}
