import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("The report of a run that writes outputs", .timeLimit(.minutes(2)))
struct TransformCollectorTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  /// All events, counts and results of the runs at several concurrencies, each in the order of its report.
  private func told(
    staged: Int,
    _ run: (Int, PathBytes, @escaping (inout OutputOptions, inout BatchOptions) -> Void) throws
      -> TransformRun
  ) throws -> [[String]] {
    try [1, 2, 7, 32].map { concurrency in
      let run = try run(concurrency, fixture.path("o")) { options, batch in
        options.isSynced = true
        options.staged = staged
        batch.stride = .fixed(3)
      }
      try fixture.removeTree("o")
      let reasons = run.counts.reasons.map { "\($0.key): \($0.value)" }.sorted()
      let counts = [run.counts.seen, run.counts.done, run.counts.failed, run.counts.skipped]
      return run.events + reasons + [
        "\(counts) \(run.counts.byteCount)", "\(run.stopped.map(\.message) ?? "ended")",
      ]
    }
  }

  private static let failing: Set<String> = [
    "publish f03.gz", "publish f04.gz", "publish f17.gz", "publish large.gz", "publish f03", "publish f17",
  ]

  @Test(
    "is the same in the same order at every concurrency, also when commits fail", arguments: [3, 16, 1000])
  func order(staged: Int) throws {
    for number in 0..<40 {
      let name = number < 10 ? "0\(number)" : "\(number)"
      try fixture.file(PathBytes("t/f\(name)"), SampleContent.text.bytes(900 + number))
      if number % 8 == 3 { try fixture.hardLink(PathBytes("t/g\(name)"), to: PathBytes("t/f\(name)")) }
      if number % 5 == 0 { try fixture.fifo(PathBytes("t/f\(name)-fifo")) }
      if number % 7 == 0 { try fixture.file(PathBytes("t/f\(name)-small"), "x") }
    }
    try fixture.file("t/large", SampleContent.text.bytes(2_200_000))
    let fixture = fixture
    let told = try told(staged: staged) { concurrency, folder, change in
      let calls = FaultyCalls()
      calls.on(.open, "f20", .fail(13))
      return try TransformRun.compress(
        fixture, ["t"], concurrency: concurrency, into: folder, calls: calls,
        commits: FaultyCommitCalls(failing: Self.failing), change)
    }
    #expect(told.allSatisfy { $0 == told[0] })
    // Problems are in the order of the tree: files, then their further names.
    let names = told[0].filter { $0.hasPrefix("failure unreadable") }
    #expect(
      names == ["f03.gz", "f04.gz", "f17.gz", "f20", "large.gz"].map { "failure unreadable \($0)" })
    #expect(!told[0].contains { $0.contains("f03 written") || $0.contains("g03 linked") })
    #expect(told[0].contains { $0.contains("g11 linked") })
  }

  @Test("is the same for files that are decoded, including damaged ones")
  func decoded() throws {
    for number in 0..<30 {
      let name = number < 10 ? "0\(number)" : "\(number)"
      var bytes = try CompressionFormat.gz.compressed(SampleContent.text.bytes(900 + number))
      if number % 6 == 2 { bytes = bytes.dropLast(9) }
      try fixture.file(PathBytes("t/f\(name).gz"), bytes)
    }
    let fixture = fixture
    let told = try told(staged: 8) { concurrency, folder, change in
      try TransformRun.decompress(
        fixture, ["t"], concurrency: concurrency, into: folder,
        commits: FaultyCommitCalls(failing: Self.failing), change)
    }
    #expect(told.allSatisfy { $0 == told[0] })
    #expect(
      told[0].filter { $0.hasPrefix("failure") }
        == ["f02.gz", "f03", "f08.gz", "f14.gz", "f17", "f20.gz", "f26.gz"].map { "failure unreadable \($0)" }
    )
  }

  @Test(
    "of a stopped run lists and counts exactly the outputs that exist",
    arguments: [1, 2, 7, 32], [true, false])
  func stopped(concurrency: Int, isSynced: Bool) throws {
    for number in 10..<60 { try fixture.file(PathBytes("t/f\(number)"), SampleContent.text.bytes(900)) }
    try fixture.hardLink("t/g", to: "t/f20")
    try fixture.file("t/large", SampleContent.text.bytes(2_200_000))
    for stop in [12, 30, 59] {
      var options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
      options.isSynced = isSynced
      var batch = BatchOptions()
      batch.concurrency = concurrency
      batch.stride = .fixed(7)
      let calls = FaultyCalls()
      let cancellation = Cancellation()
      calls.on(
        .open, PathBytes("f\(stop)"),
        .before { cancellation.cancel(BatchError(.cancelled, "stopped by a signal")) })
      let runner = BatchRunner(options: batch, cancellation: cancellation, calls: calls)
      let source = try CompressSource(
        runner.tree([fixture.path("t")]), operandCount: 1, format: .gz, level: nil, options: options,
        cancellation: cancellation)
      let told = Recorder<String>()
      let job = CompressJob(
        of: source, output: StandardOutput(cancellation: cancellation)
      ) { report in
        guard case .written(let target, _, _) = report.outcome else { return }
        told.record("\(fixture.relative(target))")
      }
      let summary = runner.run(job, over: source).summary
      let made = fixture.files().filter { $0.hasSuffix(".gz") }
      #expect(summary.leavesItems)
      #expect(told.values.sorted() == made, "\(stop)")
      #expect(summary.counts.done == made.count)
      #expect(fixture.files().allSatisfy { !$0.contains(".tmp") })
      // At -j 1 all files before the stop are done.
      if concurrency == 1 { #expect(made.count >= stop - 10) }
      for name in made { try fixture.remove(PathBytes(name)) }
    }
  }

  @Test("of a stopped run has a large file that was copied because it is already compressed")
  func stoppedAfterCopy() throws {
    let content = try CompressionFormat.gz.compressed(SampleContent.noise.bytes(4_400_000))
    try fixture.file("t/large", content)
    let calls = FaultyCalls()
    let cancellation = Cancellation()
    // The times are the last that a copy gets before it is staged.
    calls.on(
      .change(.setTimes), nil,
      .before { cancellation.cancel(BatchError(.cancelled, "stopped by a signal")) })
    var options = OutputOptions(
      naming: OutputNaming(.adding(suffix: ".gz"), directory: fixture.path("o")))
    options.isSynced = false
    options.copiesOthers = true
    _ = try options.naming.makeDirectory(by: LinuxCalls())
    let runner = BatchRunner(cancellation: cancellation, calls: calls)
    let source = try CompressSource(
      runner.tree([fixture.path("t")]), operandCount: 1, format: .gz, level: nil, options: options,
      cancellation: cancellation)
    let told = Recorder<OutputOutcome>()
    let job = CompressJob(of: source, output: StandardOutput(cancellation: cancellation)) { report in
      told.record(report.outcome)
    }
    let summary = runner.run(job, over: source).summary
    // The output folder mirrors the whole path of the source.
    let target = try #require(options.naming.copyTarget(of: fixture.path("t/large")))
    #expect(told.values == [.copied(target: target, size: Int64(content.count))])
    #expect(summary.counts.done == 1 && summary.stopped?.code == .cancelled)
  }

  @Test("lists an output after it has its name")
  func safe() throws {
    for number in 0..<20 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    let fixture = fixture
    var options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    options.staged = 6
    let runner = BatchRunner()
    let missing = Recorder<PathBytes>()
    let source = try CompressSource(
      runner.tree([fixture.root]), operandCount: 1, format: .gz, level: nil, options: options,
      cancellation: runner.context.cancellation)
    let job = CompressJob(
      of: source, output: StandardOutput(cancellation: runner.context.cancellation)
    ) { report in
      guard case .written(let target, _, _) = report.outcome else { return }
      if !fixture.exists(PathBytes(target.lastComponent)) { missing.record(target) }
    }
    let outcome = runner.run(job, over: source)
    #expect(outcome.result?.written == 20 && missing.values.isEmpty)
  }

  @Test("is complete when the run ends, and so are the outputs", arguments: [1, 2, 7, 32])
  func complete(concurrency: Int) throws {
    for number in 0..<30 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    try fixture.hardLink("g", to: "f3")
    var batch = BatchOptions()
    batch.concurrency = concurrency
    let options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    let runner = BatchRunner(options: batch)
    let source = try CompressSource(
      runner.tree([fixture.root]), operandCount: 1, format: .gz, level: nil, options: options,
      cancellation: runner.context.cancellation)
    let job = CompressJob(
      of: source, output: StandardOutput(cancellation: runner.context.cancellation)
    ) { _ in }
    let outcome = runner.run(job, over: source)
    #expect(outcome.stopped == nil && outcome.counts.done == 31)
    #expect(outcome.result?.written == 30 && outcome.result?.linked == 1)
    #expect(fixture.files().filter { $0.hasSuffix(".gz") }.count == 31)
    #expect(fixture.openDescriptors == 0)
  }

  @Test("waits for a large file at the head, and the names of other outputs do not wait")
  func largeHead() throws {
    try fixture.file("a-large", SampleContent.text.bytes(4_400_000))
    for number in 0..<40 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    let gate = Gate()
    let commits = FaultyCommitCalls(before: ["publish f0.gz": { gate.open() }])
    // The large file has five blocks. The read of the last block waits until a small output gets its name.
    let calls = FaultyCalls()
    calls.on(.read, "a-large", .beforeBehind(4_100_000) { gate.pass() })
    let run = try TransformRun.compress(fixture, concurrency: 4, calls: calls, commits: commits) {
      options, batch in
      options.isSynced = true
      options.staged = 4
      batch.stride = .fixed(1)
    }
    #expect(calls.count(of: .read, "a-large") >= 6)
    #expect(run.reports.first == "a-large written 4400000" && run.counts.done == 41)
  }
}
