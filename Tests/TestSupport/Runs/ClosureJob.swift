import BatchEngine

/// A job made of closures, each of which gets a whole chunk.
package struct ClosureJob<Item: Sendable, Value: Sendable>: BatchJob {
  private let onProcess: @Sendable (Chunk<Item>, WorkerContext) throws(BatchError) -> Value
  private let onCollect: @Sendable (Value) throws(BatchError) -> Void
  private let onCheckpoint: @Sendable () throws(BatchError) -> Void
  private let onFinish: @Sendable () throws(BatchError) -> Void
  private let onDiscard: @Sendable () -> Void
  private let collectsAfterStop: Bool

  package init(
    onProcess: @escaping @Sendable (Chunk<Item>, WorkerContext) throws(BatchError) -> Value,
    onCollect: @escaping @Sendable (Value) throws(BatchError) -> Void = { _ in },
    onCheckpoint: @escaping @Sendable () throws(BatchError) -> Void = {},
    onFinish: @escaping @Sendable () throws(BatchError) -> Void = {},
    onDiscard: @escaping @Sendable () -> Void = {}, collectsAfterStop: Bool = false
  ) {
    self.onProcess = onProcess
    self.onCollect = onCollect
    self.onCheckpoint = onCheckpoint
    self.onFinish = onFinish
    self.onDiscard = onDiscard
    self.collectsAfterStop = collectsAfterStop
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker(self) }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(self)
  }

  package final class Worker: BatchWorker {
    private let job: ClosureJob

    fileprivate init(_ job: ClosureJob) {
      self.job = job
    }

    package func begin(
      _ chunk: Chunk<Item>, in context: WorkerContext, into output: inout [Value]
    ) throws(BatchError) {
      output.append(try job.onProcess(chunk, context))
    }

    package func process(_ item: Item, in context: WorkerContext, into output: inout [Value]) {}
  }

  package final class Collector: BatchCollector {
    private let job: ClosureJob

    fileprivate init(_ job: ClosureJob) {
      self.job = job
    }

    package func collect(_ output: [Value]) throws(BatchError) {
      for value in output { try job.onCollect(value) }
    }

    package var collectsAfterStop: Bool { job.collectsAfterStop }

    package func checkpoint() throws(BatchError) { try job.onCheckpoint() }

    package func finish() throws(BatchError) { try job.onFinish() }

    package func discard() { job.onDiscard() }
  }
}
