import TestSupport
import Testing

@testable import BatchEngine

/// The label of a queue; nil means the queue on which the caller runs.
@_silgen_name("dispatch_queue_get_label")
private func label(_ queue: OpaquePointer?) -> UnsafePointer<CChar>?

/// Every call of a collector is made on one serial queue of its run.
@Suite(.timeLimit(.minutes(3))) struct CollectorQueueTests {
  /// Records the calls of its collector and the label of the queue of each call.
  private struct RecordingJob: BatchJob {
    typealias Item = Int

    let calls = Recorder<String>()
    let queues = Recorder<String>()
    let isStopped: Bool

    func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker(isStopped: isStopped) }
    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector(self) }

    final class Worker: BatchWorker {
      private let isStopped: Bool

      init(isStopped: Bool) { self.isStopped = isStopped }

      func process(_ item: Int, in context: WorkerContext, into rows: inout [Int]) throws(BatchError) {
        if isStopped, item == 30 { throw BatchError(.malformed, "stop") }
        context.warn(Problem(.special, BatchError(.special, "\(item)")))
        rows.append(item)
      }
    }

    final class Collector: BatchCollector {
      private let job: RecordingJob

      init(_ job: RecordingJob) { self.job = job }

      private func note(_ call: String) {
        job.calls.record(call)
        job.queues.record(label(nil).map { String(cString: $0) } ?? "")
      }

      func collect(_ rows: [Int]) { note("collect") }

      func hold(_ problem: Problem, severity: Severity) -> Bool {
        note("hold")
        return false
      }

      func checkpoint() { note("checkpoint") }
      func finish() { note("finish") }
      func discard() { note("discard") }
    }
  }

  @Test("all calls are made on the queue of the run", arguments: [1, 2, 7, 32], [false, true])
  func queue(concurrency: Int, isStopped: Bool) async throws {
    for runsOnCaller in concurrency == 1 ? [false, true] : [false] {
      var options = BatchOptions()
      options.concurrency = concurrency
      options.runsOnCaller = runsOnCaller
      options.chunksPerCheckpoint = 8
      options.stride = .fixed(1)
      let job = RecordingJob(isStopped: isStopped)
      let runner = BatchRunner(options: options)
      _ = try await onThread { runner.run(job, over: ListSource(0..<40)) }
      #expect(Set(job.queues.values) == ["batchproc.collect"])
      let calls = job.calls.values
      #expect(calls.last == (isStopped ? "discard" : "finish"))
      guard !isStopped else { continue }
      #expect(calls.count { $0 == "collect" } == 40 && calls.count { $0 == "hold" } == 40)
      #expect(calls.count { $0 == "checkpoint" } == 5)
    }
  }
}
