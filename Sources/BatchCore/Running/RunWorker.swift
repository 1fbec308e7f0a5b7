import BatchEngine
import BatchOutputs
import var Glibc.E2BIG

/// The result of a lane, for the collector.
package enum RunRow: Sendable {
  /// A child was started.
  case started(RunChild)
  /// A child has ended.
  case ended(RunChild, CommandReport)
  /// A child has ended, and its output is complete.
  case output(RunChild, CommandReport, StagedOutput, remark: BatchError?)
  /// No child was started.
  case settled(CommandReport)
}

/// Prepares children, and takes what they wrote.
package final class RunWorker: BatchWorker {
  private let children: RunChildren
  private var options: CommandOptions { children.options }
  private var stage: OutputStage { children.stage }
  /// The place of the last source and its output; closed between chunks.
  private var place: OutputPlace?

  init(_ children: RunChildren) { self.children = children }

  package func process(
    _ item: RunItem, in context: WorkerContext, into rows: inout [RunRow]
  ) throws(BatchError) {
    switch item {
    case .repeated: context.skip(.repeated)
    case .ended: break
    case .nextEnded:
      let ended = try children.waitForEnd { () throws(BatchError) in try context.checkCancellation() }
      if let ended { try collect(ended, context, into: &rows) }
    case .files(let files): try start(files, context, into: &rows)
    }
    while let ended = children.nextEnded() { try collect(ended, context, into: &rows) }
  }

  package func end(in context: WorkerContext, into rows: inout [RunRow]) { place = nil }

  // MARK: The start

  private func start(
    _ files: [RunFile], _ context: WorkerContext, into rows: inout [RunRow]
  ) throws(BatchError) {
    guard let first = files.first else { return }
    guard children.startsMore else {
      for _ in files { context.skip(.notStarted) }
      return
    }
    var plan: OutputPlan?
    if let target = first.target, options.kind == .files {
      guard !isOutput(first.record, target, context) else { return context.skip(.kept) }
      plan = OutputPlan(for: first.record, target: target, stage, after: &place, in: context)
      guard let plan else { return }
      if let row = settled(first, plan.decision, context) { return rows.append(.settled(row)) }
      if case .refused = plan.decision { return }
    }
    if options.outputs.isDryRun, options.kind != .inPlace {
      for file in files {
        context.finish()
        rows.append(.settled(CommandReport(file.record.path, .planned(file.target))))
      }
      return
    }
    while case .ended(let ended) = try children.next(checking: { () throws(BatchError) in
      try context.checkCancellation()
    }) {
      try collect(ended, context, into: &rows)
    }
    var isStarted = false
    let child = RunChild(files, replacing: plan.map { replaced(by: $0) } ?? .nothing)
    defer { if !isStarted { children.giveBack(child) } }
    do throws(BatchError) {
      if let row = try prepare(child, first, plan, context) { return rows.append(.settled(row)) }
    } catch {
      guard error.code != .cancelled else { throw error }
      context.report(Problem(error.path == nil ? error.at(first.record.path) : error))
      return
    }
    guard child.tries > 0 else { return }
    isStarted = true
    rows.append(.started(child))
    children.start(child)
  }

  /// Whether a file is an output of an earlier run or of this one, which is no source.
  private func isOutput(_ record: FileRecord, _ target: PathBytes, _ context: WorkerContext) -> Bool {
    let naming = stage.options.naming
    guard naming.directory == nil else { return false }
    guard naming.pathWithoutSuffix(record.path) != nil else { return target == record.path }
    if naming.isOutput(record, calls: context.calls) { return true }
    let found = try? context.withFile(record) { (file, _) in children.mark.find(on: file) }
    return found == .same || found == .other
  }

  /// What an output replaces.
  private func replaced(by plan: OutputPlan) -> CommandReport.Replaced {
    guard plan.decision.isReplacing else { return .nothing }
    guard let file = try? plan.place.target?.openFile(PathBytes(plan.target.lastComponent)) else {
      return .older
    }
    return children.mark.find(on: file.raw) == .other ? .other : .older
  }

  /// Counts a file that needs no child, or reports it as refused.
  private func settled(
    _ file: RunFile, _ decision: OutputDecision, _ context: WorkerContext
  ) -> CommandReport? {
    switch decision {
    case .write, .compare: return nil
    case .upToDate:
      context.skip(.upToDate)
      return CommandReport(file.record.path, .upToDate)
    case .refused(let error):
      context.report(Problem(.unreadable, error))
      return nil
    }
  }

  /// Opens what the child needs.
  ///
  /// - Returns: the report of a file that needs no child; nil for a child that can be started, and if the reason was reported.
  /// - Throws: why this file fails.
  private func prepare(
    _ child: RunChild, _ file: RunFile, _ plan: OutputPlan?, _ context: WorkerContext
  ) throws(BatchError) -> CommandReport? {
    if options.kind == .inPlace { return try prepareInPlace(child, file, context) }
    guard options.passesContent || plan != nil else {
      child.prepare(.none, input: nil, output: nil)
      return nil
    }
    var input: ChildFile?
    let source = try context.withFile(file.record) { (opened, status) throws(BatchError) in
      if options.passesContent { input = try ChildFile(duplicating: opened) }
      return (status: status, attributes: plan == nil ? [] : AttributeReader.attributes(of: opened))
    }
    guard let plan else {
      child.prepare(.none, input: input, output: nil)
      return nil
    }
    let place = try stage.folders.prepare(plan.place)
    self.place = place
    let facts = RunChild.Source(
      plan: plan, place: place, status: source.status, attributes: source.attributes)
    try prepare(child, facts, input: input)
    return nil
  }

  /// Makes the place of the output.
  private func prepare(
    _ child: RunChild, _ source: RunChild.Source, input: ChildFile?
  ) throws(BatchError) {
    let (plan, folder) = (source.plan, source.place.outputFolder)
    guard options.writesStandardOutput else {
      do throws(BatchError) {
        return child.prepare(.folder(try PrivateFolder(in: folder), source), input: input, output: nil)
      } catch {
        throw error.at(plan.target)
      }
    }
    let file = try AtomicFile(
      outputOf: source.status, at: plan.target, in: folder, replacing: plan.decision.isReplacing,
      isSynced: options.outputs.isSynced)
    // The descriptor can be written too.
    let output = ChildFile(owning: try file.openForReading(syncing: false))
    child.prepare(.file(file, source), input: input, output: output)
  }

  // MARK: In place

  private func prepareInPlace(
    _ child: RunChild, _ file: RunFile, _ context: WorkerContext
  ) throws(BatchError) -> CommandReport? {
    let record = file.record
    let isForced = options.outputs.replacing == .always
    let found = try context.withFile(record) { (opened, status) throws(BatchError) in
      (
        status: status, attributes: AttributeReader.attributes(of: opened),
        decision: OutputDecision.inPlace(children.mark, opened, status, path: record.path, isForced: isForced)
      )
    }
    if let row = settled(file, found.decision, context) { return row }
    if case .refused = found.decision { return nil }
    if options.outputs.isDryRun {
      context.finish()
      return CommandReport(record.path, .planned(record.path))
    }
    guard
      let plan = OutputPlan(
        for: record, target: record.path, decided: found.decision, stage, after: &place, in: context)
    else { return nil }
    let ready = try stage.folders.prepare(plan.place)
    place = ready
    let own: PrivateFolder
    do throws(BatchError) {
      own = try PrivateFolder(in: ready.outputFolder)
    } catch {
      throw error.at(record.path)
    }
    let digest = try DigestStream(.xxh128)
    let name = PathBytes(record.path.lastComponent)
    let calls = context.calls
    let mode = found.status.mode & 0o777
    let created = calls.create(name, in: own.opened.raw, permissions: mode | 0o600)
    guard created >= 0 else {
      throw .output("create a copy", errno: Int32(truncatingIfNeeded: -created), path: record.path)
    }
    let copy = Descriptor(owning: Int32(truncatingIfNeeded: created))
    let raw = copy.raw
    var offset = 0
    let outcome = try context.read(record, isCounted: false) { () throws(BatchError) in
      digest.reset()
      offset = 0
      let failed = -calls.resize(raw, to: 0)
      guard failed == 0 else { throw .output("copy", errno: failed, path: record.path) }
    } consume: { (piece) throws(BatchError) in
      try digest.update(piece)
      let failed = -calls.write(piece, to: raw, at: offset)
      guard failed == 0 else { throw .output("copy", errno: failed, path: record.path) }
      offset += piece.count
    }
    guard let outcome else { return nil }
    guard outcome.isStable else {
      throw BatchError(.changed, "changed while it was copied", path: record.path)
    }
    _ = calls.setMode(of: raw, to: mode)
    var source = RunChild.Source(
      plan: plan, place: ready, status: outcome.status, attributes: found.attributes)
    source.digest = try digest.finish()
    var input: ChildFile?
    if options.passesContent {
      input = try context.withFile(record) { (opened, _) throws(BatchError) in
        try ChildFile(duplicating: opened)
      }
    }
    child.prepare(.folder(own, source), input: input, output: nil)
    return nil
  }

  // MARK: The end

  private func collect(
    _ ended: RunChildren.Ended, _ context: WorkerContext, into rows: inout [RunRow]
  ) throws(BatchError) {
    let child = ended.child
    let ending: ChildEnding
    switch ended.result {
    case .success(let value): ending = value
    case .failure(let error):
      child.abandon()
      children.giveBack(child)
      // A program that cannot be started for one file is not started for the others either, unless its arguments are the reason.
      guard error.errno == E2BIG || options.template.program == nil else { throw error }
      rows.append(.ended(child, report(child, .failed(error.at(child.path)), nil)))
      return
    }
    let ran = RanChild(arguments: child.arguments, ending: ending, tries: child.tries)
    do throws(BatchError) {
      if let reason = failure(of: ending) { throw reason }
      let row = try take(child, ran, context)
      children.giveBack(child)
      rows.append(row)
    } catch {
      if error.code == .cancelled {
        child.abandon()
        children.giveBack(child)
        throw error
      }
      if child.tries <= options.retries, ending.status != .stopped, try repeated(child, context) { return }
      child.abandon()
      children.giveBack(child)
      rows.append(
        .ended(child, report(child, .failed(error.path == nil ? error.at(child.path) : error), ran)))
    }
  }

  private func report(_ child: RunChild, _ result: CommandReport.Result, _ ran: RanChild?) -> CommandReport {
    CommandReport(child.path, files: child.files.count, result, child: ran)
  }

  /// Starts another try of a child that failed.
  ///
  /// - Returns: false if its place could not be made again.
  private func repeated(_ child: RunChild, _ context: WorkerContext) throws(BatchError) -> Bool {
    let (tries, input) = (child.tries, child.input)
    input?.rewind()
    do throws(BatchError) {
      switch child.target {
      case .none: child.prepare(.none, input: input, output: nil)
      case .folder(let own, let source) where options.kind == .files:
        guard own.empty() == nil else { return false }
        child.prepare(.folder(own, source), input: input, output: nil)
      case .folder:
        child.abandon()
        if let file = child.files.first { _ = try prepareInPlace(child, file, context) }
      case .file(let file, let source):
        file.discard()
        try prepare(child, source, input: input)
      }
      guard child.tries > tries else { return false }
    } catch {
      guard error.code != .cancelled else { throw error }
      return false
    }
    children.start(child, pause: options.pause)
    return true
  }

  /// Why a child failed; nil if it succeeded.
  private func failure(of ending: ChildEnding) -> BatchError? {
    let text: String
    switch ending.status {
    case .exit(let status) where options.accepted.contains(status):
      guard ending.leavesOpenOutput else { return nil }
      text = "the command left processes that still write to its standard output, which is incomplete"
    case .exit(let status): text = "the command ended with status \(status)"
    case .signal(let number): text = "the command was ended by \(SignalName.text(number))"
    case .timeLimit: text = "the command was stopped, because it took longer than the time limit"
    case .stopped: text = "the command was stopped with the run"
    }
    let last = ending.errors.lastLine(most: 200)
    return BatchError(.special, last.isEmpty ? text : text + ": " + String(decoding: last, as: UTF8.self))
  }

  /// Takes the output of a child that succeeded.
  ///
  /// - Throws: why the output cannot be used.
  private func take(_ child: RunChild, _ ran: RanChild, _ context: WorkerContext) throws(BatchError) -> RunRow
  {
    for file in child.files { context.count(bytes: Int(clamping: max(0, file.record.status.size))) }
    switch child.target {
    case .none:
      for _ in child.files { context.finish() }
      return .ended(child, report(child, .ran, ran))
    case .file(let file, let source):
      try requireUnchanged(source, child)
      return try stage(
        file, source, AtomicFile.Metadata(of: source.status, mark: children.mark.stored), child, ran)
    case .folder(let own, let source):
      let target = source.plan.target
      let name = PathBytes(target.lastComponent)
      var replaced: FileStatus?
      if let before = source.digest {
        guard try isChanged(name, in: own, before, source.status, context) else {
          child.abandon()
          context.finish()
          return .ended(child, report(child, .unchanged, ran))
        }
        replaced = source.status
      } else {
        try requireUnchanged(source, child)
      }
      let file: AtomicFile
      do throws(BatchError) {
        file = try AtomicFile(
          adopting: try TemporaryFile(adopting: name, from: own), at: target,
          isReplacing: source.plan.decision.isReplacing, replaced: replaced)
      } catch {
        throw error.path == nil ? error.at(child.path) : error
      }
      var metadata = AtomicFile.Metadata(of: source.status, mark: children.mark.stored)
      if replaced != nil {
        let now = FileStatus.Time.now
        metadata.times = .init(accessed: now, modified: now)
        metadata.mark = children.mark.stored(size: try file.size(), modified: now)
      }
      return try stage(file, source, metadata, child, ran)
    }
  }

  private func stage(
    _ file: AtomicFile, _ source: RunChild.Source, _ metadata: AtomicFile.Metadata, _ child: RunChild,
    _ ran: RanChild
  ) throws(BatchError) -> RunRow {
    let size = try file.size()
    try stage.reserve()
    do throws(BatchError) {
      let remark = try file.prepare(metadata, attributes: source.attributes)
      guard let first = child.files.first else { throw BatchError(.invalid, "the child has no file") }
      let output = stage.add(file, of: first.record, source.status, at: source.place, isProved: false)
      let report = report(
        child,
        .written(
          source.plan.target, size: size, replacing: source.digest == nil ? child.replacing : .older), ran)
      // The private folder goes with what is left in it.
      child.release()
      return .output(child, report, output, remark: remark)
    } catch {
      stage.release()
      file.discard()
      throw error
    }
  }

  /// - Throws: `changed` if the source is not what it was when the child was started.
  private func requireUnchanged(_ source: RunChild.Source, _ child: RunChild) throws(BatchError) {
    let name = PathBytes(child.path.lastComponent)
    guard try source.place.source.look(at: name)?.hasSameContent(as: source.status) == true else {
      throw BatchError(.changed, "changed while the command processed it", path: child.path)
    }
  }

  /// Whether the copy of a source has other content now.
  private func isChanged(
    _ name: PathBytes, in own: PrivateFolder, _ before: Digest, _ source: FileStatus, _ context: WorkerContext
  ) throws(BatchError) -> Bool {
    guard let status = try own.opened.look(at: name), status.kind == .regular, status.size == source.size,
      let file = try? own.opened.openFile(name)
    else { return true }
    let digest = try DigestStream(.xxh128)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
    defer { room.deallocate() }
    var offset: UInt64 = 0
    while true {
      try context.checkCancellation()
      let count = try context.calls.fill(room, from: file.raw, at: offset, path: own.opened.path)
      if count == 0 { return try digest.finish() != before }
      try digest.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
      offset += UInt64(count)
    }
  }
}
