import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite("What the workers and the collector of a run share", .timeLimit(.minutes(1)))
struct SharedValueTests {
  private final class Shared: Sendable {
    let workers = Atomic<Int>(0)
    let items = Atomic<Int>(0)
  }

  private struct Job: BatchJob {
    let made = Recorder<ObjectIdentifier>()
    var failure: BatchError?

    func makeShared(in context: CollectorContext) throws(BatchError) -> Shared {
      if let failure { throw failure }
      let shared = Shared()
      made.record(ObjectIdentifier(shared))
      return shared
    }

    func makeWorker(in context: WorkerContext, sharing shared: Shared) -> FunctionWorker<
      Int, [ObjectIdentifier]
    > {
      shared.workers.add(1, ordering: .relaxed)
      return FunctionWorker { (_, _, rows) in
        shared.items.add(1, ordering: .relaxed)
        rows.append(ObjectIdentifier(shared))
      }
    }

    func makeCollector(in context: CollectorContext, sharing shared: Shared) -> sending Collector {
      Collector(shared)
    }

    final class Collector: BatchCollector {
      private let shared: Shared
      private var others = 0

      init(_ shared: Shared) { self.shared = shared }

      func collect(_ rows: [ObjectIdentifier]) { others += rows.count { $0 != ObjectIdentifier(shared) } }

      func finish() -> (workers: Int, items: Int, others: Int) {
        (shared.workers.load(ordering: .relaxed), shared.items.load(ordering: .relaxed), others)
      }
    }
  }

  private func run(_ job: Job, _ way: (Int, Bool)) -> RunOutcome<(workers: Int, items: Int, others: Int)> {
    var options = BatchOptions()
    (options.concurrency, options.runsOnCaller) = way
    options.stride = .fixed(1)
    return BatchRunner(RunContext(options: options)).run(job, over: ListSource(0..<300))
  }

  @Test("is made once in each run, for all of them", arguments: ReaderFeedTests.ways)
  func once(way: (Int, Bool)) async throws {
    let job = Job()
    try await onThread {
      for _ in 0..<2 {
        let outcome = run(job, way)
        #expect(outcome.result?.items == 300 && outcome.result?.others == 0)
        #expect((outcome.result?.workers ?? 0) > 0)
      }
    }
    #expect(job.made.count == 2)
  }

  @Test("ends the run with the error of making it, before anything begins", arguments: ReaderFeedTests.ways)
  func failure(way: (Int, Bool)) async throws {
    let error = BatchError(.unwritable, "no room")
    var job = Job()
    job.failure = error
    let failing = job
    try await onThread {
      let outcome = run(failing, way)
      #expect(outcome.summary.stopped == error && outcome.result == nil && outcome.summary.counts.seen == 0)
    }
  }
}
