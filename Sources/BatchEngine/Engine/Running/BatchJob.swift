/// What a run does with the items of its source: a worker for each lane, and one collector.
///
/// Data flows one way. A source plans, workers process chunks on what they own, and the collector takes their
/// results in the order of the chunks: it orders, names, counts and decides. Each has a context with what its role may do.
/// The runner calls every step, so that none can be forgotten.
public protocol BatchJob<Item>: Sendable {
  /// What a source yields: ``WalkItem`` for trees.
  associatedtype Item
  associatedtype Worker: BatchWorker where Worker.Item == Item
  associatedtype Collector: BatchCollector where Collector.Output == Worker.Output

  /// How many descriptors a worker may need at a time while it processes one chunk.
  var descriptors: Int { get }

  /// Makes the worker of a lane, on that lane and before its first chunk.
  ///
  /// - Parameter context: that of the first chunk, which the worker must not keep.
  /// - Throws: an error that ends the run.
  func makeWorker(in context: WorkerContext) throws(BatchError) -> Worker

  /// Makes the collector of a run, before the first chunk.
  ///
  /// - Parameter context: what the collector may do; it keeps it.
  /// - Throws: an error that ends the run.
  func makeCollector(in context: CollectorContext) throws(BatchError) -> sending Collector
}

extension BatchJob {
  /// Those for reading files.
  public var descriptors: Int { DescriptorBudget.tokensToRead }
}

/// What one lane does with the items of a chunk.
///
/// A worker belongs to its lane: it processes one chunk at a time, needs no lock, and sees no state of another
/// worker. It reads files through the context, which counts them, applies the policies and keeps the budgets.
public protocol BatchWorker<Item, Output>: AnyObject {
  associatedtype Item: Sendable
  /// The results of a chunk, in the order of its items.
  associatedtype Output: ChunkOutput, Sendable

  /// Called before the first item of a chunk.
  ///
  /// - Throws: an error that ends the run, here and below.
  func begin(_ chunk: Chunk<Item>, in context: WorkerContext, into output: inout Output) throws(BatchError)

  /// Processes one item. What concerns only its path is reported to the context.
  func process(_ item: Item, in context: WorkerContext, into output: inout Output) throws(BatchError)

  /// Called behind the last item of a chunk.
  func end(in context: WorkerContext, into output: inout Output) throws(BatchError)
}

extension BatchWorker {
  public func begin(
    _ chunk: Chunk<Item>, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {}

  public func end(in context: WorkerContext, into output: inout Output) throws(BatchError) {}
}

/// What takes the results of a run: one object, of which every call is made on one serial queue of the run, from the
/// first result to ``finish()`` or ``discard()``. It needs no lock. The queue has no thread of its own.
public protocol BatchCollector<Output>: AnyObject {
  associatedtype Output: ChunkOutput, Sendable
  /// The result of the run, beside its counts.
  associatedtype Summary: Sendable

  /// Takes results in the order of the items. A problem that was met between two results is reported between the
  /// calls that take them.
  ///
  /// - Throws: an error that ends the run, such as that of an output that takes no more.
  func collect(_ output: Output) throws(BatchError)

  /// Takes a problem at its place between the results, to report it later, behind results that wait.
  ///
  /// - Returns: whether it does. Otherwise the runner reports the problem now.
  func hold(_ problem: Problem, severity: Severity) -> Bool

  /// Whether results that workers had when the run was stopped from outside, as a signal does, are collected as well:
  /// those of some chunks are missing then, and ``discard()`` follows.
  var collectsAfterStop: Bool { get }

  /// Called between batches when all results so far are collected, and after the last batch, if the options ask
  /// for checkpoints.
  func checkpoint() throws(BatchError)

  /// Called once, when all results are collected and nothing stopped the run.
  func finish() throws(BatchError) -> Summary

  /// Called once in the place of ``finish()`` when the run was stopped, or after it failed: commits outputs that are complete,
  /// where they are of use without the rest, and removes the others.
  func discard()
}

extension BatchCollector {
  public func hold(_ problem: Problem, severity: Severity) -> Bool { false }
  public var collectsAfterStop: Bool { false }
  public func checkpoint() throws(BatchError) {}
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
  /// Some of the results, in their order.
  func part(_ range: Range<Int>) -> Self
}

extension Array: ChunkOutput {
  public func part(_ range: Range<Int>) -> [Element] { Array(self[range]) }
}
