import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// How a run treats files that change, vanish or cannot be read.
@Suite(.timeLimit(.minutes(3))) struct WorkerContextTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("before", "before")
    try fixture.file("victim", "the content as it was listed")
    try fixture.setModified("victim", seconds: 1000)
    try fixture.file("z-after", "after")
  }

  private struct Result {
    let lines: [String]
    let problems: [String]
    let counts: Counters.Snapshot
  }

  /// Reads the fixture's tree under the default policy with one change.
  private func read(_ change: (inout EventPolicy) -> Void = { _ in }) async throws -> Result {
    var options = BatchOptions()
    change(&options.policy)
    let observer = ProblemRecorder()
    let runner = BatchRunner(options: options, observer: observer, calls: calls)
    let job = ReadingJob()
    let root = fixture.root
    let summary = try await onThread { runner.run(job, over: runner.tree([root])) }
    let counts = summary.counts
    #expect(summary.stopped == nil)
    #expect(counts.seen == counts.done + counts.failed + counts.skipped)
    #expect(fixture.openDescriptors == 0)
    return Result(
      lines: job.lines.values.map { String($0.dropFirst(root.bytes.count + 1)) },
      problems: observer.lines.values, counts: counts)
  }

  private static func line(_ name: String, _ text: String) -> String {
    "\(name) \(Checksum(of: Array(text.utf8)))"
  }

  private static let before = line("before", "before")
  private static let after = line("z-after", "after")

  @Test func readsAnUnchangedFile() async throws {
    let result = try await read()
    #expect(result.lines == [Self.before, Self.line("victim", "the content as it was listed"), Self.after])
    #expect(result.problems.isEmpty)
    #expect(result.counts.byteCount == 39)
  }

  // MARK: Vanished

  @Test func skipsAFileThatVanished() async throws {
    calls.on(.open, "victim", .before { [fixture] in try? fixture.remove("victim") })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["note vanished victim"])
    #expect(result.counts.skipped == 1)
  }

  @Test(arguments: [
    (EventPolicy.Action.warn, "warning vanished victim", 0), (.fail, "failure vanished victim", 1),
    (.retry(1), "failure vanished victim", 1),
  ])
  func followsThePolicyForAVanishedFile(
    action: EventPolicy.Action, problem: String, failed: Int
  ) async throws {
    calls.on(.open, "victim", .fail(ENOENT))
    let result = try await read { $0[.vanished] = action }
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == [problem])
    #expect(result.counts.failed == failed)
  }

  @Test func namesAFileOperandThatVanished() async throws {
    calls.on(.open, "victim", .before { [fixture] in try? fixture.remove("victim") })
    let observer = ProblemRecorder()
    let runner = BatchRunner(options: BatchOptions(), observer: observer, calls: calls)
    let operand = fixture.path("victim")
    let summary = try await onThread { runner.run(ReadingJob(), over: runner.tree([operand])) }
    #expect(observer.lines.values == ["failure missing victim"])
    #expect(summary.counts.missing == 1)
    #expect(summary.counts.failed == 1)
  }

  // MARK: Unreadable

  @Test(arguments: [EACCES, EPERM, EIO, EMFILE, ENFILE, ENOMEM])
  func namesAFileThatCannotBeOpened(number: Int32) async throws {
    calls.on(.open, "victim", .fail(number))
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["failure unreadable victim"])
    #expect(result.counts.failed == 1)
  }

  @Test(arguments: [1, 2, 3, 5]) func namesAFileWhoseReadFails(turn: Int) async throws {
    try fixture.file("victim", size: 600 << 10)
    calls.on(.read, "victim", turns: turn...turn, .fail(EIO))
    calls.on(.read, "victim", .short(200 << 10))
    let result = try await read()
    #expect(result.problems == (turn <= 3 ? ["failure unreadable victim"] : []))
    #expect(result.lines.count == (turn <= 3 ? 2 : 3))
  }

  @Test func readsALargeFileUpToAFault() async throws {
    try fixture.file("victim", size: 9 << 20)
    calls.on(.read, "victim", turns: 4...4, .fail(EIO))
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["failure unreadable victim"])
  }

  @Test(arguments: [EventPolicy.Action.ok, .warn]) func skipsAnUnreadableFileWhenThePolicySaysSo(
    action: EventPolicy.Action
  ) async throws {
    calls.on(.open, "victim", .fail(EACCES))
    let result = try await read { $0[.unreadable] = action }
    #expect(result.counts.failed == 0)
    #expect(result.counts.skipped == 1)
    #expect(result.problems == [action == .ok ? "note unreadable victim" : "warning unreadable victim"])
  }

  @Test func retriesAsOftenAsThePolicySays() async throws {
    calls.on(.read, "victim", turns: 1...3, .fail(EIO))
    let result = try await read { $0[.unreadable] = .retry(3) }
    #expect(result.lines.count == 3)
    #expect(result.problems.isEmpty)
    #expect(calls.count(of: .open, "victim") == 4)
  }

  @Test func givesUpAfterTheLastTry() async throws {
    calls.on(.read, "victim", turns: 1...4, .fail(EIO))
    let result = try await read { $0[.unreadable] = .retry(3) }
    #expect(result.lines.count == 2)
    #expect(result.problems == ["failure unreadable victim"])
    #expect(calls.count(of: .open, "victim") == 4)
  }

  // MARK: Changed

  /// Changes the time of the victim after each of its first `times` reads.
  private func change(times: Int) {
    let count = Atomic<Int>(0)
    calls.on(
      .read, "victim",
      .after { [fixture] in
        let number = count.add(1, ordering: .relaxed).newValue
        if number <= times { try? fixture.setModified("victim", seconds: 1000 + number) }
      })
  }

  @Test func readsAgainWithoutAWarningWhenTheFileChangedBeforeItsTurn() async throws {
    calls.on(.open, "victim", turns: 1...1, .before { [fixture] in try? fixture.append("!", to: "victim") })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.line("victim", "the content as it was listed!"), Self.after])
    #expect(result.problems.isEmpty)
  }

  @Test func warnsOfAFileThatChangesAsItIsRead() async throws {
    change(times: .max)
    let result = try await read()
    #expect(result.lines.count == 3)
    #expect(result.problems == ["warning changed victim"])
    #expect(result.counts.changed == 1)
    #expect(result.counts.done == 3)
  }

  @Test func skipsAChangedFileWhenThePolicyIsToFail() async throws {
    change(times: .max)
    let result = try await read { $0[.changed] = .fail }
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["failure changed victim"])
    #expect(result.counts.failed == 1)
    #expect(result.counts.changed == 0)
  }

  @Test func readsAChangedFileAgainWhenThePolicySaysSo() async throws {
    // The first change spoils the first attempt, the second change the next one.
    change(times: 2)
    let result = try await read { $0[.changed] = .retry(2) }
    #expect(result.lines.count == 3)
    #expect(result.problems.isEmpty)
    #expect(result.counts.changed == 0)
  }

  @Test func warnsOfAFileThatGrowsAndReadsItsFirstLength() async throws {
    try fixture.file("victim", size: 700 << 10)
    calls.on(
      .read, "victim", turns: 2...2, .before { [fixture] in try? fixture.append("more", to: "victim") })
    let result = try await read()
    #expect(result.lines[1] == "victim \(Checksum(of: TreeFixture.content(700 << 10)))")
    #expect(result.problems == ["warning changed victim"])
  }

  @Test func warnsOfAFileThatShrinks() async throws {
    try fixture.file("victim", size: 700 << 10)
    calls.on(.read, "victim", turns: 2...2, .before { [fixture] in try? fixture.truncate("victim", to: 9) })
    let result = try await read()
    #expect(result.lines.count == 3)
    #expect(result.problems == ["warning changed victim"])
  }

  // MARK: Swapped for something else

  @Test func skipsAFileSwappedForAFIFO() async throws {
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        try? fixture.remove("victim")
        try? fixture.fifo("victim")
      })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["note special victim"])
  }

  @Test func skipsAFileSwappedForAFIFOWithAWriter() async throws {
    let path = fixture.path("victim")
    let writer = Mutex<Int32>(-1)
    defer { writer.withLock { _ = close($0) } }
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        try? fixture.remove("victim")
        try? fixture.fifo("victim")
        writer.withLock { $0 = path.withCString { open($0, O_RDWR | O_NONBLOCK) } }
      })
    var options = BatchOptions()
    options.policy[.special] = .warn
    let observer = ProblemRecorder()
    let runner = BatchRunner(options: options, observer: observer, calls: calls)
    let root = fixture.root
    _ = try await onThread { runner.run(ReadingJob(), over: runner.tree([root])) }
    #expect(observer.lines.values == ["warning special victim"])
  }

  @Test func skipsAFileSwappedForAFolder() async throws {
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        try? fixture.remove("victim")
        try? fixture.folder("victim")
      })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["note special victim"])
  }

  @Test func skipsAFileSwappedForASocket() async throws {
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        try? fixture.remove("victim")
        try? fixture.socket("victim")
      })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["note special victim"])
  }

  @Test func neverReadsThroughALinkThatTookAFilesPlace() async throws {
    let outside = try TreeFixture()
    try outside.file("secret", "the content as it was listed")
    let target = outside.path("secret")
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        try? fixture.remove("victim")
        try? fixture.symbolicLink("victim", to: target)
      })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.after])
    #expect(result.problems == ["note special victim"])
  }

  @Test func neverReadsThroughALinkThatTookAFoldersPlace() async throws {
    let outside = try TreeFixture()
    try outside.file("inner", "a secret of the same length!")
    try fixture.file("zone/inner", "what belongs to the tree ...")
    let target = outside.root
    // The reader opens the folder after the walk has listed it.
    calls.on(
      .open, "zone", turns: 2...2,
      .before { [fixture] in
        try? fixture.rename("zone", to: "aside")
        try? fixture.symbolicLink("zone", to: target)
      })
    let result = try await read()
    #expect(result.lines.allSatisfy { !$0.hasPrefix("zone") })
    #expect(result.problems == ["note vanished inner"])
    #expect(outside.openDescriptors == 0)
  }

  @Test func readsTheNewFileWhereOneWasReplaced() async throws {
    calls.on(
      .open, "victim", turns: 1...1,
      .before { [fixture] in
        _ = try? fixture.file("new", "new content")
        try? fixture.rename("new", to: "victim")
      })
    let result = try await read()
    #expect(result.lines == [Self.before, Self.line("victim", "new content"), Self.after])
    #expect(result.problems.isEmpty)
  }

  // MARK: Errors of the job

  @Test func endsTheRunWithWhatTheConsumerThrows() async throws {
    let full = BatchError(.exhausted, "full")
    let job = ClosureJob<WalkItem, Int>(onProcess: { (chunk, context) throws(BatchError) in
      for case .file(let record) in chunk.items {
        _ = try context.read(record, restart: {}) { (_) throws(BatchError) in throw full }
      }
      return 0
    })
    let runner = BatchRunner(options: BatchOptions(), calls: calls)
    let root = fixture.root
    let summary = try await onThread { runner.run(job, over: runner.tree([root])) }
    #expect(summary.stopped == full)
    #expect(summary.counts.failed == 0)
  }

  @Test func endsTheRunWithWhatTheRestartThrows() async throws {
    let full = BatchError(.exhausted, "full")
    let job = ClosureJob<WalkItem, Int>(onProcess: { (chunk, context) throws(BatchError) in
      for case .file(let record) in chunk.items {
        _ = try context.read(record, restart: { () throws(BatchError) in throw full }, consume: { _ in })
      }
      return 0
    })
    let runner = BatchRunner(options: BatchOptions(), calls: calls)
    let root = fixture.root
    let summary = try await onThread { runner.run(job, over: runner.tree([root])) }
    #expect(summary.stopped == full)
    #expect(summary.counts.failed == 0)
  }

  @Test func stopsBetweenTheBuffersOfALargeFile() async throws {
    try fixture.file("victim", size: 16 << 20)
    let cancellation = Cancellation()
    calls.on(.read, "victim", turns: 2...2, .after { cancellation.cancel(BatchError(.cancelled, "stop")) })
    let runner = BatchRunner(options: BatchOptions(), cancellation: cancellation, calls: calls)
    let root = fixture.root
    let summary = try await onThread { runner.run(ReadingJob(), over: runner.tree([root])) }
    #expect(summary.stopped?.message == "stop")
    #expect(calls.count(of: .read, "victim") <= 4)
    #expect(fixture.openDescriptors == 0)
  }

  // MARK: Reporting

  @Test func countsWhatItReports() {
    let run = RunContext(calls: calls)
    let counters = run.counters
    let context = WorkerContext(lane: Lane(run: run), run: run)
    #expect(context.report(Problem(.missing, BatchError(.missing, "a"))) == .failure)
    #expect(context.report(Problem(.special, BatchError(.special, "b"))) == .note)
    #expect(counters.snapshot.failed == 1)
    #expect(counters.snapshot.missing == 1)
    #expect(counters.snapshot.skipped == 1)
    #expect(context.problems.map(\.0.error.message) == ["a", "b"])
  }
}
