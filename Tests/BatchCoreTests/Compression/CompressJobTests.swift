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
    try fixture.file("t/large", SampleContent.mixed.bytes(9_000_000, seed: seed))
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
}
