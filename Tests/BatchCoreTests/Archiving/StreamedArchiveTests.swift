import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Runs over an archive that is one stream with one long member.
@Suite("The decoding of a long member", .timeLimit(.minutes(3)))
struct StreamedArchiveTests {
  enum Task: CaseIterable {
    case verify, compare, list, extract, rehearse, print
  }

  private static let size = 8 << 20

  private let t: TreeFixture
  private let calls = FaultyCalls()
  private let archive: PathBytes = "archive.tar"

  init() throws {
    t = try TreeFixture()
    try t.file("live/long", [UInt8](repeating: 7, count: Self.size))
    let made = try Outcome(shell: "cd '\(t.path("live"))' && tar -cf ../archive.tar long")
    #expect(made.status == 0, "\(made.errorText)")
    try t.folder("target")
  }

  private func context(_ concurrency: Int, onCaller: Bool = false) -> RunContext {
    var options = BatchOptions()
    options.concurrency = concurrency
    options.runsOnCaller = onCaller
    return RunContext(options: options, cancellation: Cancellation(), calls: calls)
  }

  private struct Discarding: ResultStream {
    func write(_ bytes: [UInt8]) {}
    func finish() {}
  }

  private func run(_ task: Task, _ run: RunContext) throws -> RunSummary {
    let source = SourceContext(run)
    let archive = try ArchiveFile(t.path(archive), in: source)
    let runner = BatchRunner(run)
    switch task {
    case .verify, .compare:
      let live = task == .verify ? nil : try LiveTree(t.path("live"), options: WalkOptions(), in: source)
      let reader = try VerifyReader(archive, live: live, by: run.reading)
      return runner.run(VerifyJob(live: live) { _ in }, reading: reader).summary
    case .list:
      let reader = try MemberListReader(archive, details: false, digests: true, by: run.reading)
      return runner.run(MemberListJob(render: { _, _ in }, output: { _ in }), reading: reader).summary
    case .extract, .rehearse:
      var options = ExtractionOptions()
      options.isDryRun = task == .rehearse
      options.replacing = .always
      let reader = try ExtractReader(
        archive, selection: .all, globs: [], options: options, by: run.reading)
      let job = try ExtractJob(into: t.path("target"), selection: .all, options: options, in: run) { _ in }
      return runner.run(job, reading: reader).summary
    case .print:
      let reader = PrintReader(archive, selection: .all, globs: [], limits: ArchiveLimits())
      return runner.run(PrintJob(to: Discarding()), reading: reader).summary
    }
  }

  /// Runs once, and returns the number of a read call that will lie within the member in the next run.
  private func turnWithin(_ task: Task) throws -> Int {
    let summary = try run(task, context(2))
    #expect(summary.counts.done == 1 && summary.stopped == nil)
    // The search for an index makes the first read calls, and fewer than the decoding.
    return calls.count(of: .read, archive) * 2 - 5
  }

  @Test(
    "ends immediately when the run is cancelled", arguments: Task.allCases,
    [(1, true), (1, false), (7, false)])
  func cancelled(task: Task, way: (Int, Bool)) async throws {
    try await onThread { [self] in
      let turn = try turnWithin(task)
      let run = context(way.0, onCaller: way.1)
      calls.on(
        .read, archive, turns: turn...turn,
        .before { run.cancellation.cancel(BatchError(.cancelled, "enough")) })
      #expect(try self.run(task, run).stopped?.code == .cancelled)
      #expect(calls.count(of: .read, archive) == turn)
    }
  }

  @Test("waits while the run is suspended", arguments: Task.allCases)
  func suspended(task: Task) async throws {
    try await onThread { [self] in
      let turn = try turnWithin(task)
      let run = context(2)
      let isResumed = Atomic<Bool>(false)
      calls.on(
        .read, archive, turns: turn...turn,
        .before {
          run.concurrency.setSuspended(true)
          Thread {
            for _ in 0..<1000 { sched_yield() }
            isResumed.store(true, ordering: .relaxed)
            run.concurrency.setSuspended(false)
          }.start()
        })
      calls.on(
        .read, archive, turns: (turn + 1)...(turn + 1),
        .before {
          let isHeld = isResumed.load(ordering: .relaxed)
          #expect(isHeld)
        })
      #expect(try self.run(task, run).counts.done == 1)
    }
  }

  @Test("counts bytes before the member is complete", arguments: [Task.verify, .print])
  func counted(task: Task) async throws {
    try await onThread { [self] in
      let turn = try turnWithin(task)
      let run = context(2)
      let counts = Recorder<Int64>()
      calls.on(
        .read, archive, turns: turn...turn,
        .before { counts.record(run.counters.snapshot.byteCount) })
      let summary = try self.run(task, run)
      #expect(try #require(counts.values.first) > 0)
      #expect(summary.counts.byteCount == Int64(Self.size))
    }
  }
}
