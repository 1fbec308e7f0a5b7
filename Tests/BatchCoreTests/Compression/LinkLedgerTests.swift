import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("Links of outputs")
struct LinkLedgerTests {
  private let fixture: TreeFixture
  private let problems = ProblemRecorder()
  private let first: FileRecord
  private let second: FileRecord

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("a", "content")
    try fixture.folder("d")
    try fixture.hardLink("d/b", to: "a")
    first = try fixture.record("a")
    second = try fixture.record("d/b")
  }

  /// A run that writes outputs; the test passes its rows to the collector.
  private struct Links {
    let run: RunContext
    let outputs: OutputStage
    let collector: TransformCollector
    let reports = Recorder<OutputOutcome>()
    private let fixture: TreeFixture

    init(
      _ fixture: TreeFixture, _ problems: ProblemRecorder, _ calls: FaultyCommitCalls,
      _ change: (inout OutputOptions) -> Void
    ) {
      self.fixture = fixture
      run = RunContext(observer: problems)
      var options = OutputOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
      change(&options)
      outputs = OutputStage(options, calls, in: CollectorContext(run))
      let reports = reports
      collector = TransformCollector(outputs, in: CollectorContext(run)) { reports.record($0.outcome) }
    }

    var counts: Counters.Snapshot { run.counters.snapshot }

    /// Commits the output of the first name.
    func commit(_ first: FileRecord, isProved: Bool = true) throws {
      try outputs.reserve()
      let file = try AtomicFile(at: fixture.path("a.gz"), replacing: true)
      try file.write([1, 2, 3].span)
      try file.prepare(.init(of: first.status))
      let place = try outputs.folders.prepared(for: first)
      let staged = outputs.add(file, of: first, first.status, at: place, isProved: isProved)
      let report = TransformReport(
        source: first.path, outcome: .written(target: file.target, plainSize: 7, compressedSize: 3))
      try collector.collect([.output(report, staged)])
      collector.rows.commits.flush()
    }

    func link(
      _ record: FileRecord, to first: FileRecord, _ decision: OutputDecision = .write(isReplacing: false)
    ) throws {
      let naming = outputs.options.naming
      let name = HardLinkItem(
        record, target: naming.target(of: record.path) ?? "",
        first: FirstLink(record: first, target: naming.target(of: first.path) ?? ""))
      try collector.collect([.link(name, decision)])
    }
  }

  private func links(
    _ calls: FaultyCommitCalls = FaultyCommitCalls(), _ change: (inout OutputOptions) -> Void = { _ in }
  ) -> Links {
    Links(fixture, problems, calls, change)
  }

  /// A whole run, in which `meanwhile` changes the tree after the first name has its output.
  private func run(_ links: Links, isProved: Bool = true, meanwhile: () throws -> Void = {}) throws {
    try links.commit(first, isProved: isProved)
    try meanwhile()
    try links.link(second, to: first)
    _ = try links.collector.finish()
  }

  private var areLinked: Bool {
    fixture.status("a.gz") != nil && fixture.status("a.gz")?.identity == fixture.status("d/b.gz")?.identity
  }

  @Test("are made for a further name, then the folder is synced, then all names are removed")
  func order() throws {
    let calls = FaultyCommitCalls()
    let links = links(calls) { $0.removesSource = true }
    try run(links)
    #expect(areLinked)
    #expect(Array(calls.steps.values.suffix(3)) == ["folder d", "remove a", "remove b"])
    #expect(fixture.files() == ["a.gz", "d/b.gz"])
    #expect(links.counts.done == 2 && problems.lines.values.isEmpty)
    #expect(links.reports.values.last == .linked(target: fixture.path("d/b.gz")))
  }

  @Test("are synced also without removal, and only when asked to", arguments: [true, false])
  func syncs(isSynced: Bool) throws {
    let calls = FaultyCommitCalls()
    let links = links(calls) { $0.isSynced = isSynced }
    try run(links, isProved: false)
    #expect(areLinked)
    #expect(calls.steps.values.contains("folder d") == isSynced)
  }

  @Test("keep all names and are reported as failed when the folder of a link cannot be synced")
  func syncFails() throws {
    let links = links(FaultyCommitCalls(failing: ["folder d"])) { $0.removesSource = true }
    try run(links)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
    #expect(links.counts.failed == 1 && links.counts.done == 1 && links.reports.count == 1)
    #expect(problems.lines.values == ["failure unreadable b.gz", "warning unreadable a"])
  }

  @Test("count a source that cannot be removed as failed")
  func removalFails() throws {
    let links = links(FaultyCommitCalls(failing: ["remove b"])) { $0.removesSource = true }
    try run(links)
    #expect(fixture.files() == ["a.gz", "d/b", "d/b.gz"])
    #expect(links.counts.failed == 1 && links.counts.done == 1)
    #expect(problems.lines.values == ["failure unreadable b"])
  }

  @Test("are made only to the output that was written, not to a file that took its name")
  func otherOutput() throws {
    let links = links { $0.removesSource = true }
    try run(links) {
      try fixture.file("v", "mine")
      try fixture.exchange("v", "a.gz")
    }
    #expect(!fixture.exists("d/b.gz") && fixture.exists("a") && fixture.exists("d/b"))
    #expect(links.counts.failed == 1)
  }

  @Test("are not made in a folder that replaced the one that was read")
  func otherFolder() throws {
    let links = links()
    try run(links) {
      try fixture.folder("v")
      try fixture.symbolicLink("link", to: fixture.path("v"))
      try fixture.exchange("d", "link")
    }
    #expect(!fixture.exists("v/b.gz") && links.counts.failed == 1)
  }

  @Test("keep further names of a file that changed after the first name was removed")
  func changedBetweenNames() throws {
    let fixture = fixture
    let calls = FaultyCommitCalls(before: ["remove b": { try? fixture.setMode("d/b", 0o600) }])
    let links = links(calls) { $0.removesSource = true }
    try run(links)
    #expect(fixture.files() == ["a.gz", "d/b", "d/b.gz"])
    #expect(problems.lines.values == ["failure unreadable b"])
  }

  @Test("are not made when the first name failed", arguments: [true, false])
  func firstFailed(isStaged: Bool) throws {
    let links = links(FaultyCommitCalls(failing: ["publish a.gz"])) { $0.removesSource = true }
    if isStaged {
      try links.commit(first)
    } else if let source = LinkedSource.of(first) {
      try links.collector.collect([.failed(source)])
    }
    try links.link(second, to: first)
    _ = try links.collector.finish()
    #expect(fixture.files() == ["a", "d/b"])
    #expect(links.counts.skipped == 1 && links.counts.failed == (isStaged ? 1 : 0))
    #expect(problems.lines.values == (isStaged ? ["failure unreadable a.gz"] : []))
  }

  @Test("keep all names when one is elsewhere or the output is not proved", arguments: [true, false])
  func incomplete(isProved: Bool) throws {
    let links = links { $0.removesSource = true }
    try links.commit(first, isProved: isProved)
    if !isProved { try links.link(second, to: first) }
    _ = try links.collector.finish()
    #expect(fixture.exists("a") && fixture.exists("d/b"))
    #expect(problems.lines.values == (isProved ? ["warning unreadable a"] : []))
  }

  @Test("count a name that was reached by two paths once")
  func oneNameTwice() throws {
    let links = links { $0.removesSource = true }
    try fixture.symbolicLink("way", to: fixture.path("."))
    var tree = BatchRunner().tree([fixture.path("way/a")])
    guard case .item(.file(let again)) = tree.next() else { throw BatchError(.missing, "not found") }
    try links.commit(first)
    try links.link(again, to: first)
    _ = try links.collector.finish()
    #expect(fixture.exists("a") && fixture.exists("d/b"))
  }

  @Test("replace an older output, and are up to date when they exist already")
  func again() throws {
    try fixture.file("d/b.gz", CompressionFormat.gz.compressed([9]))
    try fixture.setModified("d/b.gz", seconds: 1)
    try fixture.setAttribute("user.batchproc.source", of: "d/b.gz", to: "kept")
    try run(links())
    #expect(areLinked)
    let two = links()
    let output = try #require(fixture.status("d/b.gz")?.identity)
    let source = try #require(LinkedSource.of(first, output: output))
    let report = TransformReport(source: first.path, outcome: .upToDate)
    try two.collector.collect([.report(report, source)])
    try two.link(second, to: first, .upToDate(output))
    #expect(two.reports.values == [.upToDate, .upToDate])
    #expect(StaleTemporaries.remove(in: fixture.path("d")).removed.isEmpty)
  }

  @Test("do not replace a file that is not an output of the source", arguments: ["newer", "mine", "folder"])
  func inTheWay(kind: String) throws {
    if kind == "folder" { try fixture.folder("d/b.gz") } else { try fixture.file("d/b.gz", kind) }
    if kind == "mine" { try fixture.setModified("d/b.gz", seconds: 1) }
    if kind == "newer" { try fixture.setModified("d/b.gz", seconds: 4_000_000_000) }
    let links = links { $0.removesSource = true }
    try run(links)
    #expect(!areLinked)
    #expect(links.counts.failed == 1)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
  }
}
