/// What is done with the files of a run: one thing with each chunk, in parallel, and one thing with each
/// chunk's result, in order. Everything else is the engine's.
public protocol BatchJob<Item, Output>: Sendable {
  /// What a source yields: ``WalkItem`` for trees.
  associatedtype Item: Sendable
  /// What one chunk comes to.
  associatedtype Output: Sendable

  /// Processes one chunk. Called on many threads at once.
  ///
  /// Files are read through the context, which counts them, applies the policies and keeps the budgets.
  /// - Throws: an error that ends the whole run. What concerns one path is reported to the context.
  func process(_ chunk: Chunk<Item>, in context: ChunkContext) throws(BatchError) -> Output

  /// How many descriptors one call of ``process(_:in:)`` may need at a time.
  var descriptors: Int { get }

  /// Takes the result of a chunk. Called one at a time, in the order of the chunks.
  ///
  /// - Throws: an error that ends the run, such as that of an output that takes no more.
  func collect(_ output: Output) throws(BatchError)

  /// Called between batches when all results so far are collected, and after the last batch, if the options
  /// ask for checkpoints.
  func checkpoint() throws(BatchError)
}

extension BatchJob {
  /// Those for reading files.
  public var descriptors: Int { DescriptorBudget.tokensToRead }

  public func checkpoint() throws(BatchError) {}
}
