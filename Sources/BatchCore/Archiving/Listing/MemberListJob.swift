import BatchEngine

/// Renders the members of an archive.
package struct MemberListJob: RowJob {
  package typealias Item = MemberListReader.Item

  private let render: @Sendable (ListedMember, inout [UInt8]) -> Void
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - render: appends the row of a member; called on many threads at once.
  ///   - output: takes rows; one call at a time, in the order of the archive.
  package init(
    render: @escaping @Sendable (ListedMember, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, ResultRows> {
    FunctionWorker { (item, context, rows) in
      switch item {
      case .member(let member): append(member, context, &rows)
      case .members(let slice): slice.forEach { append($0, context, &rows) }
      }
    }
  }

  private func append(_ member: ListedMember, _ context: WorkerContext, _ rows: inout ResultRows) {
    rows.append { render(member, &$0) }
    context.finish()
  }
}
