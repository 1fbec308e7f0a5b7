/// A worker that consists of one function, for work without other state.
package final class FunctionWorker<Item: Sendable, Output: ChunkOutput & Sendable>: BatchWorker {
  private let body: (Item, WorkerContext, inout Output) throws(BatchError) -> Void

  /// - Parameter body: processes one item; called on the lane of the worker.
  package init(_ body: @escaping (Item, WorkerContext, inout Output) throws(BatchError) -> Void) {
    self.body = body
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    try body(item, context, &output)
  }
}

/// A collector that passes each result to a closure, in the order of the items.
package final class RowCollector<Output: ChunkOutput & Sendable>: BatchCollector {
  package typealias Summary = Void

  private let output: @Sendable (Output) throws(BatchError) -> Void

  package init(_ output: @escaping @Sendable (Output) throws(BatchError) -> Void) {
    self.output = output
  }

  package func collect(_ rows: Output) throws(BatchError) { try output(rows) }
}

/// A job that passes its results to a closure.
package protocol RowJob<Rows>: BatchJob where Collector == RowCollector<Rows> {
  associatedtype Rows: ChunkOutput, Sendable

  var output: @Sendable (Rows) throws(BatchError) -> Void { get }
}

extension RowJob {
  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending RowCollector<Rows> {
    RowCollector(output)
  }
}
