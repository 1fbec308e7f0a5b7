/// Names every file that a run would process, without opening any.
package struct ListJob: RowJob {
  package typealias Item = WalkItem

  private let name: @Sendable (FileRecord) throws(BatchError) -> PathBytes?
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - name: the name to show for a file, nil if it would be skipped; an error that it throws is reported for the file.
  ///     Called on many threads at once, as `render` is.
  ///   - render: appends the row of a path.
  ///   - output: receives rows; one call at a time, in tree order.
  package init(
    name: @escaping @Sendable (FileRecord) throws(BatchError) -> PathBytes? = { $0.path },
    render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.name = name
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> some BatchWorker<WalkItem, ResultRows>
  {
    FunctionWorker(process)
  }

  private func process(_ item: WalkItem, in context: WorkerContext, into output: inout ResultRows) {
    switch item {
    case .file(let record):
      do throws(BatchError) {
        guard let name = try name(record) else { return context.skip(.notChosen) }
        output.append { render(name, &$0) }
        context.finish()
      } catch {
        context.report(Problem(.unreadable, error))
      }
    case .standardInput:
      output.append { render("-", &$0) }
      context.finish()
    }
  }
}
