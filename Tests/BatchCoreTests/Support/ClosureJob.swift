@testable import BatchCore
@testable import BatchEngine

/// A job made of closures.
struct ClosureJob<Item: Sendable, Output: Sendable>: BatchJob {
  var onProcess: @Sendable (Chunk<Item>, ChunkContext) throws(BatchError) -> Output
  var onCollect: @Sendable (Output) throws(BatchError) -> Void = { _ in }
  var onCheckpoint: @Sendable () throws(BatchError) -> Void = {}

  func process(_ chunk: Chunk<Item>, in context: ChunkContext) throws(BatchError) -> Output {
    try onProcess(chunk, context)
  }

  func collect(_ output: Output) throws(BatchError) { try onCollect(output) }

  func checkpoint() throws(BatchError) { try onCheckpoint() }
}
