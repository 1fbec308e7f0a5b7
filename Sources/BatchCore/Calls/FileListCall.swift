import BatchEngine

/// Lists the files that another call would process.
package struct FileListCall: Call {
  /// The check whose manifests name the files; nil to walk.
  private let check: CheckCall?
  private let name: @Sendable (FileRecord) throws(BatchError) -> PathBytes?
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void

  /// - Parameters:
  ///   - check: the check whose files are listed; nil to list the files of a walk.
  ///   - name: the name to list for a file; nil for one that would be skipped.
  ///   - render: appends the row of a name. Both are called on many threads at once.
  package init(
    of check: CheckCall? = nil, name: @escaping @Sendable (FileRecord) throws(BatchError) -> PathBytes?,
    render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void
  ) {
    (self.check, self.name, self.render) = (check, name, render)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<NoFindings> {
    let job = ListJob(name: name, render: render, output: report)
    if let check {
      let entries = try check.entries(of: input, in: run)
      return Prepared(job, over: CheckedFilesSource(entries.source), total: nil) { _ in NoFindings() }
    }
    let (tree, total) = try input.tree(in: run)
    return Prepared(job, over: tree, total: total) { _ in NoFindings() }
  }
}
