import BatchEngine

/// Renders the members of an archive.
public final class MemberListJob: BatchJob {
  private let render: @Sendable (ListedMember, inout [UInt8]) -> Void
  private let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - render: appends what is to be shown of a member; on many threads at once.
  ///   - output: takes the rows of a chunk; one call at a time, in the order of the archive.
  public init(
    render: @escaping @Sendable (ListedMember, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.render = render
    self.output = output
  }

  public func process(
    _ chunk: Chunk<MemberListSource.Item>, in context: ChunkContext
  ) throws(BatchError) -> ResultRows {
    var rows = ResultRows()
    for item in chunk.items {
      switch item {
      case .member(let member):
        rows.append { render(member, &$0) }
        context.finish()
      case .members(let slice):
        slice.forEach { member in
          rows.append { render(member, &$0) }
          context.finish()
        }
      case .problem(let error): context.report(Problem(.unreadable, error))
      }
    }
    return rows
  }

  public func collect(_ rows: ResultRows) throws(BatchError) {
    try output(rows)
  }
}
