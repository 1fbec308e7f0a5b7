import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

/// Lanes rename, link and remove only in the two ways that `Roles/Exceptions.swift` lists.
@Suite("The files that lanes rename, link or remove", .timeLimit(.minutes(2)))
struct LaneChangeTests {
  enum Task: CaseIterable {
    case compress, compressWithoutSync, decompress, decompressWithoutSync
    case extract, extractOver, extractOverKeepingGoing, restore, archive, backup
    case hash, duplicates, verify

    /// What lanes do to names that are not temporary.
    var ofLanes: Set<FileChange> {
      switch self {
      // CommitRight.unsyncedOutput
      case .compressWithoutSync, .decompressWithoutSync: [.link, .remove]
      // CommitRight.earlyName
      case .extract, .extractOver, .restore: [.link]
      case .extractOverKeepingGoing: [.link, .rename]
      case .compress, .decompress, .archive, .backup, .hash, .duplicates, .verify: []
      }
    }

    /// What the collector and the program do, as far as it shows that the calls are recorded.
    var ofOthers: Set<FileChange> {
      switch self {
      case .compress, .decompress: [.rename, .remove]
      case .extractOver, .backup: [.rename]
      default: []
      }
    }
  }

  private let t: TreeFixture
  private let calls = FaultyCalls()
  private let changes = Recorder<(change: FileChange, isOfLane: Bool)>()

  init() throws {
    t = try TreeFixture()
    for number in 0..<40 {
      try t.file(PathBytes("live/f\(number)"), String(repeating: "content \(number / 2) ", count: 200))
    }
    try t.file("live/large", [UInt8](repeating: 7, count: 5 << 20))
    try t.folder("set")
    try t.folder("target")
  }

  private func context() -> RunContext {
    var options = BatchOptions()
    options.concurrency = 3
    options.stride = .fixed(4)
    return RunContext(options: options, calls: calls)
  }

  private func walkOptions(takingEverything: Bool = false) -> WalkOptions {
    var walk = WalkOptions()
    walk.takesEverything = takingEverything
    return walk
  }

  private func transform(isSynced: Bool, compresses: Bool) throws {
    let run =
      try compresses
      ? TransformRun.compress(t, ["live"], concurrency: 3, calls: calls) { options, batch in
        (options.isSynced, options.removesSource) = (isSynced, true)
        batch.stride = .fixed(4)
      }
      : TransformRun.decompress(t, ["live"], concurrency: 3, calls: calls) { options, batch in
        (options.isSynced, options.removesSource) = (isSynced, true)
        batch.stride = .fixed(4)
      }
    #expect(run.stopped == nil && run.counts.done == 41)
  }

  private func extract(over: Bool, keepingGoing: Bool = false) throws {
    let run = context()
    let archive = try ArchiveFile(t.path("archive.tar"), in: SourceContext(run))
    var options = ExtractionOptions()
    options.replacing = over ? .always : .never
    options.keepsGoing = keepingGoing
    let reader = try ExtractReader(archive, selection: .all, globs: [], options: options, by: run.reading)
    let job = try ExtractJob(into: t.path("target"), selection: .all, options: options, in: run) { _ in }
    let outcome = BatchRunner(run).run(job, reading: reader)
    #expect(outcome.summary.stopped == nil && outcome.summary.counts.failed == 0)
  }

  private func backUp(_ run: RunContext) throws -> BackupSet {
    let set = try BackupSet(in: t.path("set"), named: "days")
    let backup = try BackupRun.prepare([t.path("live")], to: set, options: BackupOptions(), in: run) { _ in }
    let outcome = BatchRunner(run).run(
      backup.job, over: try backup.preparation.source(walkOptions(takingEverything: true), in: run))
    try backup.complete(try #require(outcome.result))
    return set
  }

  private func restore() throws {
    let set = try backUp(RunContext())
    let run = context()
    let snapshot = try #require(try set.content(in: run).snapshots.last)
    let reader = try RestoreReader.prepare(
      snapshot, of: set, options: ExtractionOptions(), in: SourceContext(run))
    let job = try ExtractJob(
      into: t.path("target"), selection: MemberSelection(), options: ExtractionOptions(), in: run
    ) { _ in }
    let outcome = BatchRunner(run).run(job, reading: reader)
    #expect(outcome.summary.stopped == nil && outcome.summary.counts.failed == 0)
  }

  private struct Discarding: ResultStream {
    func write(_ bytes: [UInt8]) {}
    func finish() {}
  }

  private func archive() throws {
    let run = context()
    let options = ArchiveOptions(format: try #require(ArchiveFormat(named: "tar.zst")))
    let source = try ArchiveSource(
      run.tree([t.path("live")], options: walkOptions(takingEverything: true)), options: options)
    let outcome = BatchRunner(run).run(ArchiveJob(options, output: Discarding()) { _ in }, over: source)
    #expect(outcome.summary.stopped == nil && outcome.summary.counts.failed == 0)
  }

  private func perform(_ task: Task) throws {
    let run = context()
    let source = SourceContext(run)
    switch task {
    case .compress: try transform(isSynced: true, compresses: true)
    case .compressWithoutSync: try transform(isSynced: false, compresses: true)
    case .decompress: try transform(isSynced: true, compresses: false)
    case .decompressWithoutSync: try transform(isSynced: false, compresses: false)
    case .extract: try extract(over: false)
    case .extractOver: try extract(over: true)
    case .extractOverKeepingGoing: try extract(over: true, keepingGoing: true)
    case .restore: try restore()
    case .archive: try archive()
    case .backup: _ = try backUp(run)
    case .hash:
      let job = HashJob(algorithms: [.sha256], render: { _, _ in }, output: { _ in })
      #expect(BatchRunner(run).run(job, over: run.tree([t.path("live")])).summary.counts.done == 41)
    case .duplicates:
      let tree = DuplicateSource(run.tree([t.path("live")]), mayRepeat: false)
      let job = DuplicateJob(of: tree, givesSHA256: true) { _ in }
      #expect(BatchRunner(run).run(job, over: tree).summary.stopped == nil)
    case .verify:
      let live = try LiveTree(t.path("live"), options: WalkOptions(), in: source)
      let reader = try VerifyReader(
        try ArchiveFile(t.path("archive.tar"), in: source), live: live, by: run.reading)
      #expect(BatchRunner(run).run(VerifyJob(live: live) { _ in }, reading: reader).summary.stopped == nil)
    }
  }

  @Test("are those of the two exceptions, and none in other jobs", arguments: Task.allCases)
  func exceptions(task: Task) async throws {
    let made = try Outcome(shell: "cd '\(t.path("live"))' && tar -cf ../archive.tar *")
    #expect(made.status == 0, "\(made.errorText)")
    switch task {
    case .decompress, .decompressWithoutSync:
      _ = try TransformRun.compress(t, ["live"]) { options, _ in options.removesSource = true }
    case .extractOver, .extractOverKeepingGoing:
      for number in 0..<9 { try t.file(PathBytes("target/f\(number)"), "old") }
    default: break
    }
    try await onThread { [self] in
      let changes = changes
      calls.watchChanges { change, name in
        guard [.rename, .link, .remove].contains(change), TemporaryName(name.bytes) == nil else { return }
        changes.record((change, isOfLane: Lane.current != nil))
      }
      try perform(task)
    }
    let found = changes.values
    #expect(Set(found.filter(\.isOfLane).map(\.change)) == task.ofLanes)
    #expect(Set(found.filter { !$0.isOfLane }.map(\.change)).isSuperset(of: task.ofOthers))
  }
}
