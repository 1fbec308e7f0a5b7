import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A ledger of links")
struct LinkLedgerTests {
  private let fixture: TreeFixture
  private let problems = ProblemRecorder()
  private let counters = Counters()
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

  private var account: OutputAccount {
    OutputAccount(counters: counters, observer: problems, policy: EventPolicy())
  }

  private func ledger(
    _ calls: FaultyCommitCalls = FaultyCommitCalls(), _ change: (inout TransformOptions) -> Void = { _ in }
  ) -> LinkLedger {
    var options = TransformOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    change(&options)
    return LinkLedger(options, OutputFolders(options), calls: calls)
  }

  /// Gives the first name its output, as a committer does.
  private func commitFirst(to ledger: LinkLedger, isProved: Bool = true) throws {
    let file = try AtomicFile(at: fixture.path("a.gz"), replacing: true)
    try file.write([1, 2, 3].span)
    try file.prepare(.init(of: first.status))
    var options = TransformOptions(naming: OutputNaming(.adding(suffix: ".gz"), directory: nil))
    options.isSynced = false
    let place = try OutputFolders(options).prepared(for: first)
    let output = StagedOutput(file, of: first, first.status, at: place, isProved: isProved)
    try file.publish()
    ledger.committed(output)
  }

  private let nothingThere = OutputDecision.write(isReplacing: false)

  private var areLinked: Bool {
    fixture.status("a.gz") != nil && fixture.status("a.gz")?.identity == fixture.status("d/b.gz")?.identity
  }

  @Test("links the output of a further name, then syncs the folder, then removes all names")
  func order() throws {
    let calls = FaultyCommitCalls()
    let ledger = ledger(calls) { $0.removesSource = true }
    #expect(ledger.take(second, first: first, nothingThere) == .linked(target: fixture.path("d/b.gz")))
    #expect(!fixture.exists("d/b.gz"))
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(areLinked)
    #expect(calls.steps.values == ["folder d", "remove a", "remove b"])
    #expect(fixture.files() == ["a.gz", "d/b.gz"])
    #expect(counters.snapshot.done == 1 && problems.lines.values.isEmpty)
  }

  @Test("syncs without removal too, and not where it is not asked for", arguments: [true, false])
  func syncs(isSynced: Bool) throws {
    let calls = FaultyCommitCalls()
    let ledger = ledger(calls) { $0.isSynced = isSynced }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger, isProved: false)
    ledger.finish(account)
    #expect(areLinked)
    #expect(calls.steps.values == (isSynced ? ["folder d"] : []))
  }

  @Test("removes nothing when the folder of a link cannot be synced")
  func syncFails() throws {
    let ledger = ledger(FaultyCommitCalls(failing: ["folder d"])) { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
    #expect(counters.snapshot.failed == 1 && counters.snapshot.done == 0)
    #expect(problems.lines.values == ["failure unreadable d", "warning unreadable a"])
  }

  @Test("counts a source that cannot be removed as failed")
  func removalFails() throws {
    let ledger = ledger(FaultyCommitCalls(failing: ["remove b"])) { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(fixture.files() == ["a.gz", "d/b", "d/b.gz"])
    #expect(counters.snapshot.failed == 1)
    #expect(problems.lines.values == ["failure unreadable b"])
  }

  @Test("links nothing but the output that was written, whatever has its name")
  func otherOutput() throws {
    let ledger = ledger { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    try fixture.file("v", "mine")
    try fixture.exchange("v", "a.gz")
    ledger.finish(account)
    #expect(!fixture.exists("d/b.gz") && fixture.exists("a") && fixture.exists("d/b"))
    #expect(counters.snapshot.failed == 1)
  }

  @Test("makes no link in a folder that has taken the place of the one that was read")
  func otherFolder() throws {
    let ledger = ledger()
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    try fixture.folder("v")
    try fixture.symbolicLink("link", to: fixture.path("v"))
    try fixture.exchange("d", "link")
    ledger.finish(account)
    #expect(!fixture.exists("v/b.gz") && counters.snapshot.failed == 1)
  }

  @Test("does not remove further names of a file that changed after the first one was removed")
  func changedBetweenNames() throws {
    let fixture = fixture
    let calls = FaultyCommitCalls(before: ["remove b": { try? fixture.setMode("d/b", 0o600) }])
    let ledger = ledger(calls) { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(fixture.files() == ["a.gz", "d/b", "d/b.gz"])
    #expect(problems.lines.values == ["failure unreadable b"])
  }

  @Test("makes no link where the first name has no output")
  func firstFailed() throws {
    let ledger = ledger { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    ledger.finish(account)
    #expect(fixture.files() == ["a", "d/b"])
    #expect(counters.snapshot.skipped == 1)
  }

  @Test("removes nothing when a name is elsewhere, or the output is not proved", arguments: [true, false])
  func incomplete(isProved: Bool) throws {
    let ledger = ledger { $0.removesSource = true }
    if !isProved { _ = ledger.take(second, first: first, nothingThere) }
    try commitFirst(to: ledger, isProved: isProved)
    ledger.finish(account)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
    #expect(problems.lines.values == (isProved ? ["warning unreadable a"] : []))
  }

  @Test("does not count one name twice that came by two paths")
  func oneNameTwice() throws {
    let ledger = ledger { $0.removesSource = true }
    try fixture.symbolicLink("way", to: fixture.path("."))
    var tree = BatchRunner().tree([fixture.path("way/a")])
    guard case .file(let again) = tree.next() else { throw BatchError(.missing, "not found") }
    _ = ledger.take(again, first: first, nothingThere)
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
  }

  @Test("replaces an older output, and is done where it is linked already")
  func again() throws {
    try fixture.file("d/b.gz", CompressionFormat.gz.compressed([9]))
    try fixture.setModified("d/b.gz", seconds: 1)
    let one = ledger()
    _ = one.take(second, first: first, nothingThere)
    try commitFirst(to: one)
    one.finish(account)
    #expect(areLinked)
    let two = ledger()
    let output = try #require(fixture.status("d/b.gz")?.identity)
    two.settled(first, output)
    #expect(two.take(second, first: first, .upToDate(output)) == .upToDate)
    #expect(StaleTemporaries.remove(in: fixture.path("d")).removed.isEmpty)
  }

  @Test("leaves alone what is no output of its source", arguments: ["newer", "mine", "folder"])
  func inTheWay(kind: String) throws {
    if kind == "folder" { try fixture.folder("d/b.gz") } else { try fixture.file("d/b.gz", kind) }
    if kind == "mine" { try fixture.setModified("d/b.gz", seconds: 1) }
    if kind == "newer" { try fixture.setModified("d/b.gz", seconds: 4_000_000_000) }
    let ledger = ledger { $0.removesSource = true }
    _ = ledger.take(second, first: first, nothingThere)
    try commitFirst(to: ledger)
    ledger.finish(account)
    #expect(!areLinked)
    #expect(counters.snapshot.failed == 1)
    #expect(fixture.exists("a") && fixture.exists("d/b"))
  }
}
