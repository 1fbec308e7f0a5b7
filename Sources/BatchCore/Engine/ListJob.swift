/// Names every file that a run would process, without opening any.
public final class ListJob: BatchJob {
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void
  private let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - render: appends what is to be shown of a path; on many threads at once.
  ///   - output: takes the rows of a chunk; one call at a time, in tree order.
  public init(
    render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.render = render
    self.output = output
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> ResultRows {
    var result = ResultRows()
    for item in chunk.items {
      switch item {
      case .file(let record):
        result.append { render(record.path, &$0) }
        context.finish()
      case .standardInput:
        result.append { render("-", &$0) }
        context.finish()
      case .problem(let problem):
        context.report(problem)
      }
    }
    return result
  }

  public func collect(_ names: ResultRows) throws(BatchError) {
    try output(names)
  }
}
