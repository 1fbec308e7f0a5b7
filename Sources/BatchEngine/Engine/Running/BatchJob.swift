/// The work of a run on the items of its source: a worker for each lane, and one collector.
///
/// Data flows one way. A source plans, workers process chunks with their own state, and the collector takes their results in
/// the order of the chunks: it orders, commits, counts and decides. Each has a context that offers only what its role may do.
/// The runner calls every step, so that none can be forgotten.
public protocol BatchJob<Item>: Sendable {
  /// What a source yields: ``WalkItem`` for trees.
  associatedtype Item
  /// What the workers and the collector of one run share, such as the outputs that workers complete and the collector commits.
  /// `Void`, the default, if they share nothing.
  associatedtype Shared: Sendable = Void
  /// A result that the source yields itself because it needs no worker. `Never`, the default, if the source yields none.
  associatedtype SourceRow: Sendable = Never
  associatedtype Worker: BatchWorker where Worker.Item == Item
  associatedtype Collector: BatchCollector where Collector.Output == Worker.Output

  /// How many descriptors a worker may need at a time while it processes one chunk.
  var descriptors: Int { get }

  /// Makes the shared value of a run, before the collector.
  ///
  /// - Parameter context: that of the collector. What the value does with it for a worker, the worker does.
  /// - Throws: an error that ends the run.
  func makeShared(in context: CollectorContext) throws(BatchError) -> Shared

  /// Makes the worker of a lane, on that lane and before its first chunk.
  ///
  /// - Parameters:
  ///   - context: the context of the first chunk, which the worker must not keep.
  ///   - shared: what ``makeShared(in:)`` returned.
  /// - Throws: an error that ends the run.
  func makeWorker(in context: WorkerContext, sharing shared: Shared) throws(BatchError) -> Worker

  /// Makes the collector of a run, before the first chunk.
  ///
  /// - Parameters:
  ///   - context: what the collector may do; the collector may keep it.
  ///   - shared: what ``makeShared(in:)`` returned.
  /// - Throws: an error that ends the run.
  func makeCollector(
    in context: CollectorContext, sharing shared: Shared
  ) throws(BatchError) -> sending Collector

  /// Adds a row of the source to the results of a chunk, after those of the items before it.
  ///
  /// - Parameters:
  ///   - row: what the source yielded.
  ///   - context: counts what the row stands for, if the collector does not.
  ///   - output: receives the results.
  func add(_ row: SourceRow, in context: WorkerContext, to output: inout Worker.Output)
}

extension BatchJob {
  /// The number for reading files.
  public var descriptors: Int { DescriptorBudget.tokensToRead }
}

extension BatchJob where Shared == Void {
  public func makeShared(in context: CollectorContext) {}
}

extension BatchJob where SourceRow == Never {
  public func add(_ row: Never, in context: WorkerContext, to output: inout Worker.Output) {}
}

/// Processes the items of chunks on one lane. It does not see the rows and problems that the source yields between them.
///
/// A worker belongs to its lane: it processes one chunk at a time, needs no lock, and does not see the state of another worker.
/// It reads files through the context, which counts them, applies the policies and keeps the budgets.
public protocol BatchWorker<Item, Output>: AnyObject {
  associatedtype Item: Sendable
  /// The results of a chunk, in the order of its items.
  associatedtype Output: ChunkOutput, Sendable

  /// Called before the first item of a chunk.
  ///
  /// - Throws: an error that ends the run, here and below.
  func begin(_ chunk: Chunk<Item>, in context: WorkerContext, into output: inout Output) throws(BatchError)

  /// Processes one item. Problems of its path alone are reported to the context.
  func process(_ item: Item, in context: WorkerContext, into output: inout Output) throws(BatchError)

  /// Adds the results that the worker keeps back, if any. Called before a row or a problem of the source is added, whose place is
  /// after them.
  func settle(in context: WorkerContext, into output: inout Output) throws(BatchError)

  /// Called after the last item of a chunk.
  func end(in context: WorkerContext, into output: inout Output) throws(BatchError)
}

extension BatchWorker {
  public func begin(
    _ chunk: Chunk<Item>, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {}

  public func settle(in context: WorkerContext, into output: inout Output) throws(BatchError) {}

  public func end(in context: WorkerContext, into output: inout Output) throws(BatchError) {}
}

/// Takes the results of a run. All calls are made on one serial queue of the run, from the first result to ``finish()`` or
/// ``discard()``, so it needs no lock. The queue has no fixed thread.
public protocol BatchCollector<Output>: AnyObject {
  associatedtype Output: ChunkOutput, Sendable
  /// The result of the run, in addition to its counts.
  associatedtype Summary: Sendable

  /// Takes results in the order of the items. A problem that arose between two results is reported between the two calls.
  ///
  /// - Throws: an error that ends the run, such as that of an output that cannot be written.
  func collect(_ output: Output) throws(BatchError)

  /// Keeps a problem at its place between the results, to report it later, after results that wait.
  ///
  /// - Returns: whether the collector keeps the problem. Otherwise the runner reports it now.
  func hold(_ problem: Problem, severity: Severity) -> Bool

  /// Whether results that workers had when the run was stopped from outside, for example by a signal, are still collected.
  /// Results of some chunks are then missing, and ``discard()`` follows.
  var collectsAfterStop: Bool { get }

  /// Called between batches when all results so far are collected, and after the last batch, if the options ask
  /// for checkpoints.
  func checkpoint() throws(BatchError)

  /// Called when nothing is in progress: the source is at its end, and all results are collected. The collector may request
  /// further items (``AskedItems``).
  ///
  /// - Returns: whether it requested items. After their results it is called again.
  func requestMore() throws(BatchError) -> Bool

  /// Called once, when all results are collected and nothing stopped the run.
  func finish() throws(BatchError) -> Summary

  /// Called once instead of ``finish()`` when the run was stopped, or after ``finish()`` failed: commits the complete outputs
  /// that are useful without the rest, and removes the others.
  func discard()
}

extension BatchCollector {
  public func hold(_ problem: Problem, severity: Severity) -> Bool { false }
  public var collectsAfterStop: Bool { false }
  public func checkpoint() throws(BatchError) {}
  public func requestMore() throws(BatchError) -> Bool { false }
  public func discard() {}
}

extension BatchCollector where Summary == Void {
  public func finish() throws(BatchError) {}
}

/// The results of one chunk, in the order of its items.
public protocol ChunkOutput {
  init()
  /// How many results there are.
  var count: Int { get }
  /// A range of the results, in their order.
  func part(_ range: Range<Int>) -> Self
}

extension Array: ChunkOutput {
  public func part(_ range: Range<Int>) -> [Element] { Array(self[range]) }
}
