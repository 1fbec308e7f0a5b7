import BatchEngine

/// The outputs of a job that writes one file for each source, from all lanes at once.
///
/// A job makes one value for a run (`BatchJob.makeShared(in:)`). Each worker makes a ``Lane``, and each row of the
/// job is a ``Row``, which a ``Collector`` takes. Outputs are staged under temporary names and committed in batches: their content
/// is on the disk before they get their names, and one sync serves many outputs.
///
/// An output gets mode, owner, modification time and attributes of its source. Its mark, the extended attribute
/// `user.batchproc.source`, says that its source was kept, so that a later run may replace it.
///
/// Each source needs an output of its own: give each path once, and below a directory no two paths that differ only in leading
/// slashes, `.` and `..`.
public final class FileOutputs: Sendable {
  /// How outputs are named and written.
  public struct Options: Sendable {
    private(set) var outputs: OutputOptions

    /// - Parameters:
    ///   - suffix: is added to the names of the sources.
    ///   - directory: the folder below which the paths of the sources are mirrored; nil puts each output beside its source. If it is
    ///     below an operand, insert it into the excluded files of the walk: outputs are recognized by their marks, which some file
    ///     systems do not store.
    ///   - replacing: which existing files are replaced. With `Replacing.older` only outputs whose mark says that their
    ///     source was kept; on a file system without such attributes every older file.
    ///   - isSynced: whether outputs are on the disk before they get their names.
    /// - Throws: `invalid` for a suffix that is empty or has a slash or a NUL byte.
    public init(
      suffix: PathBytes, directory: PathBytes? = nil, replacing: Replacing = .older, isSynced: Bool = true
    ) throws(BatchError) {
      guard !suffix.bytes.isEmpty, !suffix.bytes.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
      else {
        throw BatchError(.invalid, "a suffix has at least one byte, and no slash or NUL byte", path: suffix)
      }
      outputs = OutputOptions(
        naming: OutputNaming(.adding(suffix: suffix), directory: directory),
        recognizing: .init(length: 1) { _ in true })
      outputs.replacing = replacing
      outputs.isSynced = isSynced
    }

    /// Takes descriptors for outputs from those of a run. Call it once, before the context of the run is made.
    ///
    /// - Parameter options: those of the run.
    /// - Throws: `exhausted` if there are too few.
    public mutating func setApart(from options: inout BatchOptions) throws(BatchError) {
      try options.shareDescriptors(with: &outputs)
    }

    /// How many descriptors a worker needs: the `BatchJob.descriptors` of the job.
    public var descriptorsOfLane: Int { outputs.descriptorsOfLane }
  }

  fileprivate let stage: OutputStage

  /// - Parameters:
  ///   - options: how the outputs are named and written.
  ///   - context: of the job's `BatchJob.makeShared(in:)`.
  /// - Throws: `unwritable` if the folder of the outputs is missing and cannot be created.
  public init(_ options: Options, in context: CollectorContext) throws(BatchError) {
    _ = try options.outputs.naming.makeDirectory(by: context.calls)
    stage = OutputStage(options.outputs, in: context)
  }

  /// The result of one source, in the rows of a job.
  public struct Row: Sendable {
    fileprivate enum Kind: Sendable {
      case written(Report, StagedOutput, remark: BatchError?)
      case upToDate(Report)
    }

    fileprivate let kind: Kind
  }

  /// One output.
  public struct Written: Sendable {
    public let source: PathBytes
    public let path: PathBytes
    /// In bytes.
    public let size: Int64
  }

  fileprivate struct Report: OutputReport {
    let source: PathBytes
    let outcome: OutputOutcome
  }
}

extension FileOutputs {
  /// Makes outputs on one lane. A worker has one, and calls ``end()`` when a chunk ends.
  public final class Lane {
    private let stage: OutputStage
    /// The place of the last source and its output.
    private var place: OutputPlace?

    /// - Parameter outputs: the shared value of the job.
    public init(_ outputs: FileOutputs) { stage = outputs.stage }

    /// Reads a source, and writes its output. A source is skipped if it is an output itself, or if its output is as new as the
    /// source. It is reported and not read if a file with the name of its output may not be replaced. A problem with one file is
    /// reported.
    ///
    /// - Parameters:
    ///   - source: the file to read.
    ///   - context: of the worker.
    ///   - rows: receives a row if the output is complete, or exists already.
    ///   - restart: called when reading starts; more than once if the file changed while it was read.
    ///   - consume: called with each piece of the content, in order.
    ///   - content: makes the output when the source is read.
    /// - Throws: only what ends the run: its cancellation, or an error that `restart` or `consume` throws.
    public func write(
      outputOf source: FileRecord, in context: WorkerContext, into rows: inout [Row],
      restart: () throws(BatchError) -> Void,
      consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void,
      content: () throws(BatchError) -> [UInt8]
    ) throws(BatchError) {
      let naming = stage.options.naming
      guard let target = naming.target(of: source.path), !isOutput(source, in: context) else {
        return context.skip(.kept)
      }
      guard let plan = OutputPlan(for: source, target: target, stage, after: &place, in: context) else {
        return
      }
      switch plan.decision {
      case .write: break
      case .refused(let error):
        context.report(Problem(.unreadable, error))
        return
      case .upToDate, .compare:
        context.skip(.upToDate)
        rows.append(Row(kind: .upToDate(Report(source: source.path, outcome: .upToDate))))
        return
      }
      var attributes: [ExtendedAttribute] = []
      let outcome = try context.read(source, isCounted: false) {
        (file: borrowing Descriptor, _) throws(BatchError) in
        attributes = AttributeReader.attributes(of: file.raw)
        try restart()
      } consume: { (piece) throws(BatchError) in
        try consume(piece)
      }
      guard let outcome else { return }
      do throws(BatchError) {
        rows.append(
          try stage(plan, of: source, status: outcome.status, attributes: attributes, content: try content()))
      } catch {
        guard error.code != .cancelled else { throw error }
        context.report(Problem(.unreadable, error.path == nil ? error.at(source.path) : error))
      }
    }

    /// Whether a file has the suffix of an output and its mark, or the time of a source beside it.
    private func isOutput(_ file: FileRecord, in context: WorkerContext) -> Bool {
      let naming = stage.options.naming
      guard naming.pathWithoutSuffix(file.path) != nil else { return false }
      if naming.isOutput(file, calls: context.calls) { return true }
      let mark = try? context.withFile(file) { (descriptor, _) in OutputMark.find(on: descriptor) }
      return if case .mark? = mark { true } else { false }
    }

    /// Closes the folders of the last source and its output.
    public func end() { place = nil }

    private func stage(
      _ plan: OutputPlan, of source: FileRecord, status: FileStatus, attributes: [ExtendedAttribute],
      content: [UInt8]
    ) throws(BatchError) -> Row {
      try stage.reserve()
      do throws(BatchError) {
        let place = try stage.folders.prepare(plan.place)
        self.place = place
        let file = try AtomicFile(
          outputOf: status, at: plan.target, in: place.outputFolder, replacing: plan.decision.isReplacing,
          isSynced: stage.options.isSynced)
        try file.write(content.span)
        let remark = try file.prepare(AtomicFile.Metadata(of: status, mark: .kept), attributes: attributes)
        let report = Report(
          source: source.path,
          outcome: .written(
            target: plan.target, plainSize: source.status.size, compressedSize: Int64(content.count)))
        let output = stage.add(file, of: source, status, at: place, isProved: false)
        return Row(kind: .written(report, output, remark: remark))
      } catch {
        stage.release()
        throw error
      }
    }
  }

  /// Gives outputs their names, counts and reports them; in the order of the tree.
  public final class Collector: BatchCollector {
    private let rows: OutputCollector<Report>
    private let count: Count

    private final class Count {
      var written = 0
    }

    /// - Parameters:
    ///   - outputs: the shared value of the job.
    ///   - context: of the job's `BatchJob.makeCollector(in:sharing:)`.
    ///   - report: receives each output when it has its name, one at a time, in the order of the tree.
    public init(
      _ outputs: FileOutputs, in context: CollectorContext,
      report: @escaping (Written) throws(BatchError) -> Void = { _ in }
    ) {
      let count = Count()
      self.count = count
      rows = OutputCollector(outputs.stage, in: context) { (row) throws(BatchError) in
        guard case .written(let path, _, let size) = row.outcome else { return }
        count.written += 1
        try report(Written(source: row.source, path: path, size: size))
      }
    }

    /// True: outputs that are complete when a run is stopped get their names, and are counted.
    public var collectsAfterStop: Bool { true }

    /// Takes the rows of a chunk.
    ///
    /// - Parameter output: in the order of the tree.
    public func collect(_ output: [Row]) throws(BatchError) {
      for row in output {
        switch row.kind {
        case .written(let report, let output, let remark):
          rows.add(report, output)
          if let remark { rows.add(warning: remark) }
        case .upToDate(let report): rows.add(report, of: nil)
        }
      }
      try rows.settle()
    }

    /// Keeps a problem at its place among the outputs; see `BatchCollector.hold(_:severity:)`.
    ///
    /// - Parameters:
    ///   - problem: to be reported later.
    ///   - severity: as which it is reported.
    public func hold(_ problem: Problem, severity: Severity) -> Bool {
      rows.hold(problem, severity: severity)
    }

    /// Gives all complete outputs their names.
    public func checkpoint() throws(BatchError) { try rows.checkpoint() }

    /// - Returns: how many outputs were written.
    public func finish() throws(BatchError) -> Int {
      try rows.finish()
      return count.written
    }

    /// Gives the outputs that are complete their names, after a run was stopped.
    public func discard() { rows.discard() }
  }
}
