import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct RunControlTests {
  private static func wishes(_ text: String) -> RunControl.Wishes { RunControl.Wishes(Array(text.utf8)) }

  @Test func parsesEachLine() {
    #expect(Self.wishes("concurrency 8\n").number == .fixed(8))
    #expect(Self.wishes("concurrency\tauto\r\n").number == .auto)
    #expect(Self.wishes("pause").isPaused == true)
    #expect(Self.wishes("  resume  ").isPaused == false)
    #expect(Self.wishes("").number == nil)
    #expect(Self.wishes("rate 20M").rate == .bytes(20 << 20))
    #expect(Self.wishes("rate 1\nrate off\n").rate == .off)
    #expect(Self.wishes("# concurrency 3\n\npause\n").unknownLine == nil)
  }

  @Test func theLastLineCounts() {
    let wishes = Self.wishes("pause\nconcurrency 3\nresume\nconcurrency 5\n")
    #expect(wishes.isPaused == false)
    #expect(wishes.number == .fixed(5))
  }

  @Test(arguments: [
    "stop", "concurrency", "concurrency 0", "concurrency -1", "concurrency x", "concurrency 1 2", "pause now",
    "concurrency 99999999999999999999", "rate", "rate 0", "rate -1", "rate 8E", "rate x", "rate 1 2",
  ])
  func namesAnUnknownLine(line: String) {
    #expect(Self.wishes("resume\n" + line + "\nwhat\n").unknownLine == 2)
    #expect(Self.wishes(line).number == nil)
    #expect(Self.wishes(line).rate == nil)
  }

  @Test func changesTheRateOfARunThatHasAControlFile() throws {
    let t = try TreeFixture()
    var options = BatchOptions()
    #expect(RunContext(options: options).pace == nil)
    options.changesRate = true
    let run = RunContext(options: options)
    let control = RunControl(t.root.appending("c".utf8), of: run) { _ in Issue.record("a warning") }
    #expect(run.pace?.bytesPerSecond == nil)
    for (line, rate) in [
      ("rate 20K", 20480), ("pause", 20480), ("rate 5\nresume", 5), ("rate off", nil as Int64?),
    ] {
      try t.file("c", line + "\n")
      control.look()
      #expect(run.pace?.bytesPerSecond == rate)
    }
  }

  @Test func appliesAFileEachTimeThatItChanges() throws {
    let t = try TreeFixture()
    var options = BatchOptions()
    options.concurrency = 4
    let run = RunContext(options: options)
    let warnings = Mutex(0)
    let control = RunControl(t.root.appending("c".utf8), of: run) { _ in warnings.withLock { $0 += 1 } }
    control.look()
    #expect(run.concurrency.current == 4)
    try t.file("c", "concurrency 2\n")
    control.look()
    #expect(run.concurrency.current == 2)
    #expect(run.concurrency.isFixed)
    // A line that was applied once is not applied again.
    run.concurrency.set(7)
    control.look()
    #expect(run.concurrency.current == 7)
    try t.file("c", "concurrency auto\npause\n")
    control.look()
    #expect(run.concurrency.isSuspended)
    #expect(!run.concurrency.isFixed)
    try t.file("c", "resume\nnonsense\n")
    control.look()
    #expect(!run.concurrency.isSuspended)
    #expect(warnings.withLock { $0 } == 1)
  }

  @Test func isNotBlockedByAPipe() throws {
    let t = try TreeFixture()
    try t.fifo("c")
    let run = RunContext()
    RunControl(t.root.appending("c".utf8), of: run) { _ in }.look()
    #expect(!run.concurrency.isSuspended)
  }

  @Test func asksForNoMoreOperationsThanThereAreDescriptors() throws {
    let t = try TreeFixture()
    var options = BatchOptions()
    options.descriptors = 16
    let run = RunContext(options: options)
    try t.file("c", "concurrency 4000\n")
    RunControl(t.root.appending("c".utf8), of: run) { _ in }.look()
    #expect(run.concurrency.current == 8)
  }
}
