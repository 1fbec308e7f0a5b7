/// Names every file that a run would process, without opening any.
public final class ListJob: BatchJob {
  private let name: @Sendable (FileRecord) throws(BatchError) -> PathBytes?
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void
  private let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - name: what is shown of a file, nil for one that would be skipped; what it throws is reported as the
  ///     file's. On many threads at once, as `render` is.
  ///   - render: appends what is to be shown of a path.
  ///   - output: takes the rows of a chunk; one call at a time, in tree order.
  public init(
    name: @escaping @Sendable (FileRecord) throws(BatchError) -> PathBytes? = { $0.path },
    render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.name = name
    self.render = render
    self.output = output
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> ResultRows {
    var result = ResultRows()
    for item in chunk.items {
      context.resultCount = result.count
      switch item {
      case .file(let record):
        list(record, in: context, into: &result)
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

  private func list(_ record: FileRecord, in context: ChunkContext, into result: inout ResultRows) {
    do throws(BatchError) {
      guard let name = try name(record) else { return context.skip() }
      result.append { render(name, &$0) }
      context.finish()
    } catch {
      context.report(Problem(.unreadable, error))
    }
  }
}
