import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// How runs end.
extension BatchRunnerTests {
  // MARK: Errors that end the run

  private static let broken = BatchError(.unwritable, "broken")

  @Test(arguments: [1, 4], [false, true])
  func endsOnceWhenProcessingThrows(concurrency: Int, runsOnCaller: Bool) async throws {
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { (chunk, _) throws(BatchError) in
        if chunk.index == 50 { throw Self.broken }
        return chunk.index
      }, onCollect: { collected.record($0) },
      onCheckpoint: { Issue.record("a checkpoint after the run was stopped") })
    let runner = BatchRunner(
      options: Self.options(concurrency) {
        $0.runsOnCaller = runsOnCaller
        $0.chunksPerCheckpoint = 51
      })
    let summary = try await Self.run(runner, job, over: 0..<10_000)
    #expect(summary.stopped == Self.broken)
    #expect(collected.values == Array(0..<collected.count))
    #expect(collected.count <= 50)
    #expect(summary.counts.seen < 1000)
  }

  @Test(arguments: [1, 4], [false, true])
  func endsOnceWhenCollectingThrows(concurrency: Int, runsOnCaller: Bool) async throws {
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index },
      onCollect: { (output) throws(BatchError) in
        collected.record(output)
        if output == 30 { throw Self.broken }
      }, onCheckpoint: { Issue.record("a checkpoint after the run was stopped") })
    let runner = BatchRunner(
      options: Self.options(concurrency) {
        $0.runsOnCaller = runsOnCaller
        $0.chunksPerCheckpoint = 31
      })
    let summary = try await Self.run(runner, job, over: 0..<100_000)
    #expect(summary.stopped == Self.broken)
    #expect(collected.values == Array(0...30))
  }

  @Test(arguments: [1, 4]) func endsWhenTheSourceThrows(concurrency: Int) async throws {
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index }, onCheckpoint: { Issue.record("a checkpoint after a failure") })
    let runner = BatchRunner(options: Self.options(concurrency) { $0.chunksPerCheckpoint = 1000 })
    let summary = try await Self.run(runner, job, over: 0..<100, failure: BatchError(.malformed, "line 101"))
    #expect(summary.stopped?.code == .malformed)
  }

  @Test(arguments: [false, true]) func endsWhenACheckpointThrows(runsOnCaller: Bool) async throws {
    let checkpoints = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index },
      onCheckpoint: { () throws(BatchError) in
        checkpoints.record(0)
        throw Self.broken
      })
    let runner = BatchRunner(
      options: Self.options(1) {
        $0.chunksPerCheckpoint = 5
        $0.runsOnCaller = runsOnCaller
      })
    let summary = try await Self.run(runner, job, over: 0..<100)
    #expect(summary.stopped == Self.broken)
    #expect(checkpoints.count == 1)
  }

  @Test func collectsNothingAfterACancellationFromOutside() async throws {
    let cancellation = Cancellation()
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index },
      onCollect: { output in
        collected.record(output)
        if output == 3 { cancellation.cancel(BatchError(.cancelled, "SIGINT")) }
      })
    let runner = BatchRunner(options: Self.options(4), cancellation: cancellation)
    let summary = try await Self.run(runner, job, over: 0..<100_000)
    #expect(summary.stopped?.message == "SIGINT")
    #expect(collected.values == [0, 1, 2, 3])
  }

  @Test(arguments: [1, 2, 7, 32]) func collectsAllResultsOfWorkersAfterAStopWhenTheCollectorAccepts(
    concurrency: Int
  ) async throws {
    let cancellation = Cancellation()
    let collected = Recorder<Int>()
    let processed = Recorder<Int>()
    let problems = ProblemRecorder(events: Recorder<String>())
    let discarded = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, context in
        processed.record(chunk.index)
        if chunk.index == 40 { cancellation.cancel(BatchError(.cancelled, "SIGINT")) }
        if chunk.index % 10 == 3 {
          context.report(
            Problem(.unreadable, BatchError(.unreadable, "bad", path: PathBytes("\(chunk.index)"))))
        }
        return chunk.index
      },
      onCollect: { collected.record($0) },
      onDiscard: { discarded.record(collected.count) }, collectsAfterStop: true)
    let runner = BatchRunner(
      options: Self.options(concurrency), cancellation: cancellation, observer: problems)
    let summary = try await Self.run(runner, job, over: 0..<100_000)
    #expect(summary.stopped?.message == "SIGINT" && summary.leavesItems)
    // The collector gets all that was processed, in order, before it is asked to discard.
    #expect(collected.values == processed.values.sorted())
    #expect(discarded.values == [collected.count])
    #expect(problems.lines.count == summary.counts.failed)
  }

  @Test func leavesNoItemWhenAllWereProcessed() async throws {
    let job = ClosureJob<Int, Int>(onProcess: { chunk, _ in chunk.index })
    #expect(try await !Self.run(BatchRunner(options: Self.options(2)), job, over: 0..<10).leavesItems)
  }

  @Test func doesNothingWhenCancelledBefore() async throws {
    let cancellation = Cancellation()
    cancellation.cancel(BatchError(.cancelled, "before"))
    let job = ClosureJob<Int, Int>(onProcess: { _, _ in
      Issue.record("a cancelled run processed an item")
      return 0
    })
    let runner = BatchRunner(options: Self.options(4), cancellation: cancellation)
    let summary = try await Self.run(runner, job, over: 0..<10)
    #expect(summary.counts.seen == 0)
    #expect(summary.stopped?.message == "before")
  }

  // MARK: The life cycle

  @Test(arguments: [1, 2, 7, 32]) func finishesOnceWhenEverythingIsCollected(concurrency: Int) async throws {
    let collected = Recorder<Int>()
    let finished = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index }, onCollect: { collected.record($0) },
      onFinish: { finished.record(collected.count) },
      onDiscard: { Issue.record("a complete run was discarded") })
    let summary = try await Self.run(BatchRunner(options: Self.options(concurrency)), job, over: 0..<500)
    #expect(summary.stopped == nil)
    #expect(finished.values == [500])
  }

  @Test func discardsOnceWhenTheRunIsStopped() async throws {
    let discarded = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { (chunk, _) throws(BatchError) in
        if chunk.index == 20 { throw Self.broken }
        return chunk.index
      }, onFinish: { Issue.record("the run was stopped") }, onDiscard: { discarded.record(1) })
    let summary = try await Self.run(BatchRunner(options: Self.options(4)), job, over: 0..<500)
    #expect(summary.stopped == Self.broken)
    #expect(discarded.count == 1)
  }

  @Test func discardsWhatCannotBeFinished() async throws {
    let discarded = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index }, onFinish: { () throws(BatchError) in throw Self.broken },
      onDiscard: { discarded.record(1) })
    let summary = try await Self.run(BatchRunner(options: Self.options(2)), job, over: 0..<10)
    #expect(summary.stopped == Self.broken)
    #expect(discarded.count == 1)
  }

  @Test func notifiesWhenARunThatWasStartedHasEnded() async throws {
    let collected = Recorder<Int>()
    let job = ClosureJob<Int, Int>(
      onProcess: { chunk, _ in chunk.index }, onCollect: { collected.record($0) })
    let runner = BatchRunner(options: Self.options(3))
    let queue = DispatchQueue(label: "notify")
    let counts = await withCheckedContinuation { continuation in
      runner.start(job, over: ListSource(0..<100), notify: queue) { outcome in
        dispatchPrecondition(condition: .onQueue(queue))
        continuation.resume(returning: outcome.summary.counts)
      }
    }
    #expect(counts.seen == 100 && collected.count == 100)
  }

  @Test func resumesTheTaskThatAwaitsARun() async throws {
    let job = ClosureJob<Int, Int>(onProcess: { chunk, _ in chunk.index })
    let runner = BatchRunner(options: Self.options(3))
    let outcome = await runner.run(job, over: ListSource(0..<100))
    #expect(outcome.summary.counts.seen == 100 && outcome.summary.stopped == nil)
  }

  @Test(arguments: [1, 3]) func stopsARunWhoseTaskIsCancelled(concurrency: Int) async throws {
    let (begun, cancelled) = (Gate(), Gate())
    // No chunk ends before the run is cancelled.
    let job = ClosureJob<Int, Int>(onProcess: { chunk, _ in
      begun.open()
      cancelled.pass()
      return chunk.index
    })
    let runner = BatchRunner(options: Self.options(concurrency))
    let task = Task { await runner.run(job, over: ListSource(0..<100)).summary.stopped }
    try await onThread { begun.pass() }
    task.cancel()
    cancelled.open()
    #expect(await task.value?.code == .cancelled)
  }

  @Test func reportsProblemsBetweenTheResultsThatTheyAroseBetween() async throws {
    let fixture = try Self.tree()
    let observer = ProblemRecorder()
    let runner = BatchRunner(options: Self.options(7, stride: .fixed(64)), observer: observer)
    let job = ReadingJob(told: observer.lines)
    let root = fixture.root
    _ = try await onThread { runner.run(job, over: runner.tree([root])) }
    // Results and problems go into one list, which has to be in the order of the tree.
    let names = observer.lines.values.map { $0.split(separator: " ").last.map(String.init) ?? "" }
    #expect(names.count == 158)
    let expected = ProblemRecorder()
    let again = BatchRunner(options: Self.options(1, stride: .fixed(1)), observer: expected)
    _ = try await onThread { again.run(ReadingJob(told: expected.lines), over: again.tree([root])) }
    #expect(observer.lines.values == expected.lines.values)
  }
}
