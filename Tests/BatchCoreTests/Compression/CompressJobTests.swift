import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("A job that compresses", .timeLimit(.minutes(2)))
struct CompressJobTests {
  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  /// Files that compress well, some that do not, and, if requested, a large one.
  private func writeTree(hasLarge: Bool = true) throws {
    try fixture.file("a", SampleContent.text.bytes(5000))
    try fixture.file("d/noise", SampleContent.noise.bytes(4000))
    try fixture.file("d/packed", CompressionFormat.zst.compressed(SampleContent.text.bytes(900)))
    try fixture.file("e/empty", "")
    if hasLarge { try fixture.file("e/large", SampleContent.text.bytes(2_200_000)) }
    try fixture.fifo("fifo")
  }

  private func expectOutput(_ name: PathBytes, _ format: CompressionFormat, _ content: [UInt8]) throws {
    let output = try #require(fixture.content(PathBytes(name.bytes + Array(format.suffix.utf8))), "\(name)")
    #expect(try format.decompressed(output).equals(content), "\(name)")
  }

  private static let reports = [
    "a written 5000", "d/noise not smaller", "d/packed compressed already", "e/empty not smaller",
    "e/large written 2200000",
  ]

  @Test(
    "writes outputs that are smaller, reports each file in tree order, and counts all files",
    arguments: CompressionFormat.writable)
  func writes(format: CompressionFormat) throws {
    try writeTree()
    let run = try TransformRun.compress(fixture, to: format)
    #expect(run.stopped == nil)
    #expect(run.reports == Self.reports)
    #expect(run.counts.seen == 6 && run.counts.done == 2 && run.counts.skipped == 4 && run.counts.failed == 0)
    for name in ["a", "e/large"] as [PathBytes] {
      try expectOutput(name, format, fixture.content(name) ?? [])
      let output = fixture.status(PathBytes(name.bytes + Array(format.suffix.utf8)))
      #expect(output?.modified == fixture.status(name)?.modified)
      #expect(output?.mode == fixture.status(name)?.mode)
    }
    #expect(fixture.openDescriptors == 0)
    let again = try TransformRun.compress(fixture, to: format)
    #expect(again.counts.done == 0 && again.counts.skipped == 8)
    #expect(again.reports.filter { $0.hasSuffix("up to date") } == ["a up to date", "e/large up to date"])
  }

  @Test("writes all outputs when asked to, also that of the empty file")
  func all() throws {
    try writeTree(hasLarge: false)
    let run = try TransformRun.compress(fixture) { options, _ in options.compressesAll = true }
    #expect(run.counts.done == 4)
    for name in ["a", "d/noise", "d/packed", "e/empty"] as [PathBytes] {
      try expectOutput(name, .gz, fixture.content(name) ?? [])
    }
  }

  @Test("removes only sources whose output is proved", arguments: [1, 7])
  func removes(concurrency: Int) throws {
    try writeTree()
    let run = try TransformRun.compress(fixture, concurrency: concurrency) { options, _ in
      options.removesSource = true
    }
    #expect(run.reports == Self.reports && run.problems.filter { !$0.hasPrefix("note") }.isEmpty)
    #expect(fixture.files() == ["a.gz", "d/noise", "d/packed", "e/empty", "e/large.gz"])
  }

  @Test(
    "gives the same outputs, reports and counts at every concurrency, over trees of any shape",
    arguments: [0, 1] as [UInt64])
  func concurrency(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    let format = CompressionFormat.writable[Int(seed) % 4]
    for number in 0..<60 {
      let content = SampleContent.allCases[Int(numbers.next() % 4)]
      let size = [0, 1, 50, 3000, 70_000, 300_000][Int(numbers.next() % 6)]
      let name = PathBytes("t/\(numbers.next() % 3)/\(numbers.next() % 3)/f\(number)")
      try fixture.file(name, content.bytes(size, seed: numbers.next()))
      if number % 9 == 0 { try fixture.hardLink(PathBytes("t/link\(number)"), to: name) }
    }
    let block = try BlockPlan(format, level: format == .xz ? 0 : nil, fileSize: nil).blockSize
    try fixture.file("t/large", SampleContent.mixed.bytes(min(9_000_000, 3 * block), seed: seed))
    var first: (files: [String], sums: [String], run: TransformRun)?
    for concurrency in [1, 2, 7, 32] {
      let folder = PathBytes("o\(concurrency)")
      let run = try TransformRun.compress(
        fixture, ["t"], to: format, level: format == .xz ? 0 : nil, concurrency: concurrency,
        into: fixture.path(folder)
      ) { options, batch in
        options.staged = concurrency
        batch.memory = 64 << 20
      }
      #expect(run.stopped == nil && run.problems.isEmpty)
      #expect(run.counts.seen == run.counts.done + run.counts.skipped)
      let prefix = "o\(concurrency)"
      let files = fixture.files().filter { $0.hasPrefix(prefix + "/") }
      let sums = files.map { Checksum(of: fixture.content(PathBytes($0)) ?? []).description }
      let names = files.map { String($0.dropFirst(prefix.count)) }
      let reports = run.reports.map { $0.replacing(prefix + "/", with: "") }
      if let first {
        #expect(names == first.files && sums == first.sums)
        #expect(reports == first.run.reports.map { $0.replacing("o1/", with: "") })
        #expect(run.counts == first.run.counts)
      } else {
        #expect(files.count > 10)
        first = (names, sums, run)
      }
    }
  }

  @Test("writes all outputs when few may be open", arguments: [1, 2], [1, 8])
  func fewOpen(staged: Int, concurrency: Int) throws {
    for number in 0..<50 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    try fixture.file("large", SampleContent.text.bytes(2_200_000))
    let run = try TransformRun.compress(fixture, concurrency: concurrency) { options, batch in
      options.staged = staged
      batch.stride = .fixed(3)
    }
    #expect(run.counts.done == 51 && run.problems.isEmpty)
  }

  @Test("compresses a file with several names once, and links its further outputs", arguments: [false, true])
  func links(removes: Bool) throws {
    for (name, size) in [("small", 5000), ("large", 2_200_000)] {
      try fixture.file(PathBytes("\(name)1"), SampleContent.text.bytes(size))
      try fixture.folder("d")
      try fixture.hardLink(PathBytes("d/\(name)2"), to: PathBytes("\(name)1"))
    }
    let run = try TransformRun.compress(fixture) { options, _ in options.removesSource = removes }
    #expect(
      run.reports == [
        "large1 written 2200000", "small1 written 5000", "d/large2 linked d/large2.gz",
        "d/small2 linked d/small2.gz",
      ])
    #expect(run.counts.done == 4 && run.problems.isEmpty)
    for name in ["small", "large"] {
      #expect(fixture.status(PathBytes("\(name)1.gz"))?.linkCount == 2)
      #expect(
        fixture.exists(PathBytes("\(name)1")) != removes && fixture.exists(PathBytes("d/\(name)2")) != removes
      )
    }
    #expect(fixture.status("large1.gz")?.identity == fixture.status("d/large2.gz")?.identity)
  }

  @Test("keeps a source that changes, and reports a large one once", arguments: [5000, 2_200_000], [1, 8])
  func changes(size: Int, concurrency: Int) throws {
    try fixture.file("victim", SampleContent.text.bytes(size))
    try fixture.file("other", SampleContent.text.bytes(900))
    let fixture = fixture
    let calls = FaultyCalls()
    calls.on(.read, "victim", .before { try? fixture.append("x", to: "victim") })
    let run = try TransformRun.compress(fixture, concurrency: concurrency, calls: calls) { options, _ in
      options.removesSource = true
    }
    #expect(
      run.problems.count == 1 && run.problems.first?.contains("changed victim") == true, "\(run.problems)")
    #expect(fixture.exists("victim"))
    #expect(fixture.exists("other.gz") && !fixture.exists("other"))
    #expect(run.counts.seen == run.counts.done + run.counts.failed + run.counts.skipped)
    #expect(fixture.exists("victim.gz") == (size == 5000))
  }

  @Test("leaves no output of a file whose reading fails", arguments: [5000, 2_200_000])
  func unreadable(size: Int) throws {
    try fixture.file("victim", SampleContent.text.bytes(size))
    let calls = FaultyCalls()
    calls.on(.open, "victim", .fail(13))
    let run = try TransformRun.compress(fixture, calls: calls)
    #expect(run.counts.failed == 1 && run.counts.done == 0)
    #expect(run.problems == ["failure unreadable victim"])
    #expect(fixture.files() == ["victim"])
  }

  @Test("leaves no partial output when the report ends the run", arguments: [1, 7])
  func stops(concurrency: Int) throws {
    for number in 0..<30 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    try fixture.file("large", SampleContent.text.bytes(2_200_000))
    let runner = BatchRunner(
      options: {
        var o = BatchOptions(); o.concurrency = concurrency; o.stride = .fixed(2); return o
      }())
    var options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    options.isSynced = false
    let source = try CompressSource(
      runner.tree([fixture.root]), operandCount: 1, format: .gz, level: nil, options: options,
      cancellation: runner.context.cancellation)
    let reports = Recorder<PathBytes>()
    let job = CompressJob(
      of: source, output: StandardOutput(cancellation: runner.context.cancellation)
    ) { (report) throws(BatchError) in
      reports.record(report.source)
      if reports.count == 5 { throw BatchError(.closedOutput, "nobody listens") }
    }
    #expect(runner.run(job, over: source).stopped?.code == .closedOutput)
    #expect(reports.count == 5)
    // Each named output is complete, and no other file is left.
    for name in fixture.files() {
      guard name.hasSuffix(".gz") else { continue }
      #expect(try CompressionFormat.gz.damage(of: fixture.content(PathBytes(name)) ?? []) == nil)
    }
    #expect(fixture.openDescriptors == 0)
    #expect(StaleTemporaries.remove(in: fixture.root).removed.isEmpty)
  }

  @Test("examines the existing output of a large file once, before the file is divided into blocks")
  func decidesOnce() throws {
    try fixture.file("large", SampleContent.text.bytes(2_200_000))
    _ = try TransformRun.compress(fixture, ["large"])
    let looks = Recorder<Int>()
    let calls = FaultyCalls()
    calls.on(.entry, "large.gz", .before { looks.record(1) })
    let run = try TransformRun.compress(fixture, ["large"], calls: calls)
    #expect(run.reports == ["large up to date"])
    #expect(looks.count == 1)
  }

  private static let mark = "user.batchproc.source"

  @Test(
    "marks each output by whether its source was kept, and copies no mark of a source",
    arguments: [5000, 2_200_000], [false, true])
  func marks(size: Int, removes: Bool) throws {
    try fixture.file("a", SampleContent.text.bytes(size))
    try fixture.setAttribute(Self.mark, of: "a", to: removes ? "kept" : "removed")
    try fixture.setAttribute("user.note", of: "a", to: "1")
    try fixture.setMode("a", 0o444)
    let run = try TransformRun.compress(fixture) { options, _ in options.removesSource = removes }
    #expect(run.problems.isEmpty && fixture.exists("a") != removes)
    #expect(fixture.attribute(Self.mark, of: "a.gz") == (removes ? "removed" : "kept"))
    #expect(fixture.attribute("user.note", of: "a.gz") == "1")
    if fixture.exists("a") { try fixture.remove("a") }
    // A decompressed file is no output that a later run may replace.
    _ = try TransformRun.decompress(fixture)
    #expect(fixture.attribute(Self.mark, of: "a") == nil && fixture.attribute("user.note", of: "a") == "1")
  }

  @Test("marks a copy as an output whose source is kept")
  func copyMarks() throws {
    try fixture.file("t/noise", SampleContent.noise.bytes(4000))
    try fixture.setAttribute(Self.mark, of: "t/noise", to: "removed")
    _ = try TransformRun.compress(fixture, ["t"], into: fixture.path("o")) { options, _ in
      (options.copiesOthers, options.removesSource) = (true, true)
    }
    let copy = try #require(fixture.files().first { $0.hasPrefix("o/") })
    #expect(fixture.attribute(Self.mark, of: PathBytes(copy)) == "kept")
  }

  @Test(
    "removes a source whose output is up to date after comparing both, and writes nothing",
    arguments: [5000, 2_200_000], ["kept", "removed", nil])
  func compares(size: Int, mark: String?) throws {
    try fixture.file("a", SampleContent.text.bytes(size))
    _ = try TransformRun.compress(fixture)
    if let mark {
      try fixture.setAttribute(Self.mark, of: "a.gz", to: mark)
    } else {
      try fixture.file("b", try #require(fixture.content("a.gz")))
      try fixture.rename("b", to: "a.gz")
      try fixture.setModified("a", seconds: 1000)
      try fixture.setModified("a.gz", seconds: 1000)
    }
    try fixture.setMode("a.gz", 0o444)
    let before = try #require(fixture.status("a.gz"))
    let calls = FaultyCalls()
    calls.on(.change(.create), nil, .fail(28))
    calls.on(.change(.write), nil, .fail(28))
    let steps = FaultyCommitCalls()
    let run = try TransformRun.compress(fixture, ["a"], calls: calls, commits: steps) { options, _ in
      (options.removesSource, options.isSynced) = (true, true)
    }
    #expect(run.reports == ["a up to date"] && run.problems.isEmpty)
    #expect(run.counts.done == 0 && run.counts.skipped == 1)
    let root = PathBytes(fixture.root.lastComponent)
    #expect(
      steps.steps.values == ["mark a.gz", "sync \(root)", "folder \(root)", "remove a"])
    let after = try #require(fixture.status("a.gz"))
    #expect(!fixture.exists("a") && after.hasSameContent(as: before) && after.mode == before.mode)
    #expect(fixture.attribute(Self.mark, of: "a.gz") == "removed")
    #expect(fixture.openDescriptors == 0)
  }

  @Test(
    "keeps a source whose up-to-date output cannot be marked or synced", arguments: ["mark a.gz", "sync"])
  func unmarked(step: String) throws {
    try fixture.file("a", SampleContent.text.bytes(5000))
    _ = try TransformRun.compress(fixture)
    let step = step == "sync" ? "sync \(PathBytes(fixture.root.lastComponent))" : step
    let run = try TransformRun.compress(fixture, commits: FaultyCommitCalls(failing: [step])) {
      options, _ in (options.removesSource, options.isSynced) = (true, true)
    }
    #expect(run.problems == ["failure unreadable a.gz"] && run.counts.failed == 1)
    #expect(fixture.exists("a") && fixture.exists("a.gz"))
  }

  @Test("removes the mark that a source was kept, if there is no space to change it")
  func markWithoutSpace() throws {
    try fixture.file("a", SampleContent.text.bytes(5000))
    _ = try TransformRun.compress(fixture)
    let calls = FaultyCalls()
    calls.on(.change(.setAttribute), "a.gz", turns: 1...1, .fail(28))
    let run = try TransformRun.compress(fixture, calls: calls) { options, _ in options.removesSource = true }
    #expect(run.problems.isEmpty && !fixture.exists("a"))
    #expect(fixture.attribute(Self.mark, of: "a.gz") == nil)
  }

  @Test("removes the names of a source whose outputs are links and up to date")
  func comparesLinks() throws {
    try fixture.file("a", SampleContent.text.bytes(5000))
    try fixture.hardLink("b", to: "a")
    _ = try TransformRun.compress(fixture)
    let run = try TransformRun.compress(fixture) { options, _ in options.removesSource = true }
    #expect(run.problems.isEmpty, "\(run.problems)")
    #expect(fixture.files() == ["a.gz", "b.gz"])
  }

  @Test("keeps the output of a further name that is another file, and its source")
  func foreignLink() throws {
    try fixture.file("a", SampleContent.text.bytes(5000))
    try fixture.hardLink("b", to: "a")
    _ = try TransformRun.compress(fixture)
    try fixture.remove("b.gz")
    try fixture.file("b.gz", "mine")
    for name in ["a", "a.gz", "b.gz"] as [PathBytes] { try fixture.setModified(name, seconds: 1000) }
    let run = try TransformRun.compress(fixture) { options, _ in options.removesSource = true }
    #expect(run.problems.contains { $0.contains("b.gz") }, "\(run.problems)")
    #expect(fixture.text("b.gz") == "mine" && fixture.exists("a") && fixture.exists("b"))
  }

  @Test(
    "makes outputs again that did not fit on the disk, when sources were removed, at every concurrency",
    arguments: [1, 2, 7, 32], [5000, 2_200_000])
  func retries(concurrency: Int, size: Int) throws {
    for number in 10..<30 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(size / 20)) }
    try fixture.file("big", SampleContent.text.bytes(size))
    try fixture.hardLink("d-big", to: "big")
    let calls = FaultyCalls()
    let writes = Recorder<Int>()
    calls.on(
      .change(.write), nil,
      .failWhile(28) {
        writes.record(1)
        return (3...9).contains(writes.count)
      })
    let run = try TransformRun.compress(fixture, concurrency: concurrency, calls: calls) { options, batch in
      (options.removesSource, options.isSynced) = (true, true)
      batch.stride = .fixed(3)
    }
    #expect(run.problems.isEmpty, "\(run.problems)")
    #expect(run.counts.done == 22 && run.counts.seen == 22 && run.counts.failed == 0)
    #expect(fixture.files().allSatisfy { $0.hasSuffix(".gz") }, "\(fixture.files())")
    try expectOutput("big", .gz, SampleContent.text.bytes(size))
    #expect(fixture.openDescriptors == 0)
  }

  @Test(
    "ends when outputs never fit, names each source once, and tries again only where sources are removed",
    arguments: [1, 7], [true, false])
  func neverFits(concurrency: Int, removes: Bool) throws {
    for number in 10..<40 { try fixture.file(PathBytes("f\(number)"), SampleContent.text.bytes(900)) }
    try fixture.file("large", SampleContent.text.bytes(2_200_000))
    let calls = FaultyCalls()
    calls.on(.change(.write), nil, .fail(28))
    let run = try TransformRun.compress(fixture, concurrency: concurrency, calls: calls) { options, _ in
      (options.removesSource, options.isSynced) = (removes, true)
    }
    #expect(run.counts.failed == 31 && run.counts.done == 0 && run.counts.seen == 31)
    #expect(
      run.problems == (10..<40).map { "failure unreadable f\($0).gz" } + ["failure unreadable large.gz"])
    #expect(fixture.files().count == 31)
    #expect(fixture.openDescriptors == 0)
  }
}
