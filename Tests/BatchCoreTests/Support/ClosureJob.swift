@testable import BatchCore
@testable import BatchEngine

/// A job made of closures, which get each chunk as a whole.
struct ClosureJob<Item: Sendable, Value: Sendable>: BatchJob {
  var onProcess: @Sendable (Chunk<Item>, WorkerContext) throws(BatchError) -> Value
  var onCollect: @Sendable (Value) throws(BatchError) -> Void = { _ in }
  var onCheckpoint: @Sendable () throws(BatchError) -> Void = {}
  var onFinish: @Sendable () throws(BatchError) -> Void = {}
  var onDiscard: @Sendable () -> Void = {}
  var collectsAfterStop = false

  func makeWorker(in context: WorkerContext) -> Worker { Worker(self) }

  func makeCollector(in context: CollectorContext) -> sending Collector { Collector(self) }

  final class Worker: BatchWorker {
    private let job: ClosureJob

    init(_ job: ClosureJob) {
      self.job = job
    }

    func begin(
      _ chunk: Chunk<Item>, in context: WorkerContext, into output: inout [Value]
    ) throws(BatchError) {
      output.append(try job.onProcess(chunk, context))
    }

    func process(_ item: Item, in context: WorkerContext, into output: inout [Value]) {}
  }

  final class Collector: BatchCollector {
    private let job: ClosureJob

    init(_ job: ClosureJob) {
      self.job = job
    }

    func collect(_ output: [Value]) throws(BatchError) {
      for value in output { try job.onCollect(value) }
    }

    var collectsAfterStop: Bool { job.collectsAfterStop }

    func checkpoint() throws(BatchError) { try job.onCheckpoint() }

    func finish() throws(BatchError) { try job.onFinish() }

    func discard() { job.onDiscard() }
  }
}
