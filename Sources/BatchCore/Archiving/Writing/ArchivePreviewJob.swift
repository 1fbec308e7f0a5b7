import BatchEngine

/// Decides about each file like a run that archives, but archives nothing: files are opened, not read.
package struct ArchivePreviewJob: RowJob {
  package typealias Item = ArchiveItem
  /// Appends the row of a member; called on many threads at once.
  package typealias Render = @Sendable (FileRecord, ArchiveEntry, inout [UInt8]) -> Void

  private let options: ArchiveOptions
  private let render: Render
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - render: renders each member.
  ///   - output: takes rows; one call at a time, in tree order.
  package init(
    _ options: ArchiveOptions, render: @escaping Render,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.options = options
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> FunctionWorker<
    Item, ResultRows
  > {
    let maker = try MemberMaker(options)
    return FunctionWorker { (item, context, output) throws(BatchError) in
      try context.checkCancellation()
      switch item {
      // A block belongs to a file that was counted with its header.
      case .block: break
      case .member(let record, _): try add(record, maker, context, to: &output)
      case .header(let member): try add(member.record, maker, context, to: &output)
      case .link(let record, let first):
        try add(record, context, to: &output) { () throws(BatchError) in
          try maker.link(for: record, to: first)
        }
      }
    }
  }

  private func add(
    _ record: FileRecord, _ maker: MemberMaker, _ context: WorkerContext, to output: inout ResultRows
  ) throws(BatchError) {
    let kind = record.status.kind
    let isOrdinary = [.regular, .directory, .symbolicLink].contains(kind)
    guard isOrdinary || maker.options.format.takesSpecialMembers else {
      context.report(.special(kind, at: record.path))
      return
    }
    try add(record, context, to: &output) { () throws(BatchError) in
      if kind == .regular { try context.withFile(record) { (_, _) throws(BatchError) in } }
      return try maker.entry(for: record, in: context)
    }
  }

  private func add(
    _ record: FileRecord, _ context: WorkerContext, to output: inout ResultRows,
    _ make: () throws(BatchError) -> ArchiveEntry?
  ) throws(BatchError) {
    let entry: ArchiveEntry
    do throws(BatchError) {
      guard let made = try make() else { return context.skip(.repeated) }
      entry = made
    } catch {
      try context.checkCancellation()
      let isSpecial = error.code == .special
      context.report(
        isSpecial
          ? .special(record.status.kind, at: record.path)
          : Problem(error.path == nil ? error.at(record.path) : error))
      return
    }
    output.append { render(record, entry, &$0) }
    context.finish()
  }
}
