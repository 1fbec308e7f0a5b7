/// Names every file that a run would process, without opening any.
public final class ListJob: BatchJob {
  private let isNULEnded: Bool
  private let output: @Sendable (HashedChunk) throws(BatchError) -> Void

  /// - Parameter output: takes the names of a chunk; one call at a time, in tree order.
  public init(
    isNULEnded: Bool, output: @escaping @Sendable (HashedChunk) throws(BatchError) -> Void
  ) {
    self.isNULEnded = isNULEnded
    self.output = output
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> HashedChunk {
    var result = HashedChunk()
    for item in chunk.items {
      switch item {
      case .file(let record):
        record.appendPath(to: &result.bytes)
        finish(&result, in: context)
      case .standardInput:
        result.bytes.append(UInt8(ascii: "-"))
        finish(&result, in: context)
      case .problem(let problem):
        context.report(problem)
      }
    }
    return result
  }

  public func collect(_ names: HashedChunk) throws(BatchError) {
    try output(names)
  }

  private func finish(_ result: inout HashedChunk, in context: ChunkContext) {
    result.bytes.append(isNULEnded ? 0 : UInt8(ascii: "\n"))
    result.rowEnds.append(result.bytes.count)
    context.count()
  }
}
