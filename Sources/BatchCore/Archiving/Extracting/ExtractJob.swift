import BatchEngine

/// Unpacks an archive.
///
/// Workers decode, and create folders, and files under temporary names. The collector renames files in the order of the
/// archive, creates links and members that replace others, and decides where damage ends the extraction: everything that was
/// created after that place is removed, so that the result is the same at every concurrency.
package struct ExtractJob: BatchJob {
  package typealias Item = ExtractionItem

  /// The folder of a file that is named, the one that it was staged in, and a large file that grows.
  package static let descriptorsOfCollector = 3

  private let folder: ContainedFolder
  private let selection: MemberSelection
  private let options: ExtractionOptions
  private let report: @Sendable (ExtractionReport) throws(BatchError) -> Void

  /// - Parameters:
  ///   - folder: must exist; in a dry run only its parent must exist.
  ///   - selection: the selection of the source.
  ///   - run: its system calls are used.
  ///   - report: receives the result of each member, in the order of the archive; links and folders come at the end. One call
  ///     at a time.
  /// - Throws: the error of opening the folder.
  package init(
    into folder: PathBytes, selection: MemberSelection, options: ExtractionOptions, in run: RunContext,
    report: @escaping @Sendable (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.folder = try ContainedFolder(
      folder, isDryRun: options.isDryRun, opener: run.folders, permissions: options.folderPermissions)
    self.selection = selection
    self.options = options
    self.report = report
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> ExtractWorker {
    ExtractWorker(folder, selection: selection, options: options, cancellation: context.cancellation)
  }

  package func add(_ row: ExtractionRow, in context: WorkerContext, to output: inout ExtractedChunk) {
    if case .piece(let bytes, _) = row.row { context.count(bytes: bytes.count) }
    output.rows.append(row.row)
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending ExtractCollector {
    ExtractCollector(folder, options: options, in: context, report: report)
  }
}
