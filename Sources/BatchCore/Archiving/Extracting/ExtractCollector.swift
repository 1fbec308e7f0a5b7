import BatchEngine

/// Takes the staged results of workers in the order of the archive: commits files, creates links and folders, counts, reports,
/// and decides where the extraction ends.
package final class ExtractCollector: BatchCollector {
  package typealias Output = ExtractedChunk
  package typealias Summary = Extraction

  let folder: ContainedFolder
  let options: ExtractionOptions
  let writer: MemberWriter
  /// The steps that are done after all files are created.
  var steps = DeferredSteps()
  let context: CollectorContext
  private let report: @Sendable (ExtractionReport) throws(BatchError) -> Void
  private var extraction = Extraction()
  /// Hashes of the places of members that were not created, or for which an existing file was kept.
  private var unmade: Set<Int> = []
  /// Hashes of the places of files that this run created, and that may share their content with a later name.
  private var sharing: Set<Int> = []
  /// Hashes of the places that a dry run would have created.
  private var rehearsed: Set<Int> = []
  /// The file whose pieces are being received; nil if an existing file is kept.
  private var growing: GrowingFile?
  private var growingOrder: ExtractionOrder?
  private var byteCount = 0

  init(
    _ folder: ContainedFolder, options: ExtractionOptions, in context: CollectorContext,
    report: @escaping @Sendable (ExtractionReport) throws(BatchError) -> Void
  ) {
    self.folder = folder
    self.options = options
    self.context = context
    self.report = report
    writer = MemberWriter(folder, options, context.cancellation)
  }

  /// True after a stop too: new files that already have their names are kept and counted.
  package var collectsAfterStop: Bool { true }

  package func collect(_ output: ExtractedChunk) throws(BatchError) {
    defer { writer.closeFolder() }
    // After a stop only files that already have their names are collected. Files with temporary names are removed with the rows,
    // because an earlier member may be damaged.
    let isStopped = context.cancellation.isCancelled
    for row in output.rows {
      if isStopped { guard case .made = row else { continue } }
      if extraction.archive.isCutShort {
        discard(row)
      } else {
        try add(row)
      }
    }
    if extraction.archive.isCutShort, !isStopped { context.end() }
  }

  /// Removes files that were created after the end of the extraction. Files with temporary names are removed with the rows.
  private func discard(_ row: ExtractedChunk.Row) {
    if case .made(let file) = row { writer.remove(file, by: context.commits) }
  }

  private func add(_ row: ExtractedChunk.Row) throws(BatchError) {
    switch row {
    case .made(let file):
      noteMade(file.place, mayShare: file.mayShare)
      warn(of: file.losses, file.path)
      context.counters.addDone()
      try report(
        ExtractionReport(
          path: file.path, size: file.size, outcome: .extracted, existed: existed(file.place, .file),
          place: file.place))
    case .file(let order, let file):
      try settle(order, publish(file, as: order))
    case .deferred(let step): steps.append(step)
    case .waiting(let order, let content):
      try makeWay(for: order)
      try make(order, content)
    case .kept(let order): try settle(order, .kept)
    case .superseded(let path):
      context.counters.addSkipped(.superseded)
      try report(ExtractionReport(path: path, outcome: .superseded))
    case .failed(let place, let error):
      if let place { noteUnmade(place) }
      try fail(error)
    case .lost(let places, let count, let error):
      for place in places { noteUnmade(place) }
      extraction.archive.isDamaged = true
      for _ in 0..<count { context.counters.addFailed() }
      context.report(Problem(.unreadable, error), severity: .failure)
    case .belowRefused: context.counters.addFailed()
    case .skipped(let reason): context.counters.addSkipped(reason)
    case .begin(let order): try begin(order)
    case .piece(let bytes, let offset):
      byteCount.addClamped(bytes.count)
      try write(bytes, at: offset)
    case .end(let error): try end(error)
    case .bytes(let count): byteCount.addClamped(count)
    case .note(let note): extraction.add(note)
    }
  }

  /// Creates links, and sets the metadata of folders.
  package func finish() throws(BatchError) -> Extraction {
    drop()
    folder.area.clear()
    let last = steps.takeAll()
    let finisher = finisher()
    try finisher.makeLinks(last) { (order, verdict) throws(BatchError) in try settle(order, verdict) }
    try clean()
    try finisher.describeFolders(last, removingEmpty: extraction.archive.isCutShort) {
      (order, verdict) throws(BatchError) in try settle(order, verdict)
    }
    // After links and folders were counted too.
    if extraction.archive.isCutShort { context.counters.end(bytes: byteCount) }
    if options.isSynced, !options.isDryRun {
      do throws(BatchError) {
        try folder.sync()
      } catch {
        extraction.failure = error
      }
    }
    return extraction
  }

  /// Removes what does not belong into the target, unless something failed.
  private func clean() throws(BatchError) {
    guard let cleaner = options.cleaner else { return }
    writer.closeFolder()
    do throws(BatchError) {
      let counts = context.counters.snapshot
      guard counts.failed == 0, !extraction.archive.isDamaged, !extraction.archive.isCutShort else {
        throw BatchError(.invalid, "nothing was removed: not everything could be restored", path: folder.path)
      }
      extraction.removed = try cleaner.clean(folder, isDryRun: options.isDryRun, in: context, report: report)
    } catch {
      try context.checkCancellation()
      extraction.refusal = error
    }
  }

  package func discard() {
    drop()
    folder.area.clear()
  }

  func finisher() -> ExtractionFinisher {
    ExtractionFinisher(
      folder: folder, options: options, writer: writer, calls: context.calls, right: context.commits,
      hasMade: hasMade,
      hasRehearsed: { [self] in rehearsed.contains($0.bytes.hashValue) && !isUnmade($0) })
  }

  // MARK: The results of members

  /// Counts and reports the result of a member.
  func settle(_ order: ExtractionOrder, _ verdict: ExtractionResult) throws(BatchError) {
    let path = order.entry.path
    switch verdict {
    case .failed(let error):
      noteUnmade(order.place)
      try fail(error)
    case .kept where options.acceptsEqual && options.replacing != .older:
      context.counters.addSkipped(.upToDate)
      try report(ExtractionReport(order, .upToDate))
    case .kept:
      noteUnmade(order.place)
      context.counters.addSkipped(.kept)
      try report(ExtractionReport(order, .kept))
    case .superseded:
      context.counters.addSkipped(.superseded)
      try report(ExtractionReport(order, .superseded))
    case .deferred(let step, let losses):
      noteMade(order)
      steps.append(step)
      warn(of: losses, path)
    case .made(let losses):
      noteMade(order)
      warn(of: losses, path)
      if order.isOnWay { return }
      context.counters.addDone()
      try report(ExtractionReport(order, .extracted, existed: existed(order.place, order.entry.kind)))
    }
  }

  /// In a dry run: whether a file or folder with the name exists.
  private func existed(_ place: RelativePath, _ kind: ArchiveEntry.Kind) -> Bool {
    options.isDryRun && writer.hasSomething(at: place, isFolder: kind == .directory)
  }

  private func fail(_ error: BatchError) throws(BatchError) {
    // The existing file stays, and the dry run lists it with the others.
    if options.isDryRun, error.remedy == .overwriteFiles, let path = error.path {
      try report(ExtractionReport(path: path, outcome: .kept))
    }
    // Every following file would fail in the same way.
    if error.isOutOfSpace { throw error }
    if error.code == .malformed { extraction.archive.isDamaged = true }
    context.report(Problem(.unreadable, error))
  }

  private func warn(of losses: EntryMetadata.Losses, _ path: PathBytes) {
    for error in extraction.warnings(of: losses, path: path) {
      context.report(Problem(.special, error), severity: .warning)
    }
  }

  private func noteMade(_ order: ExtractionOrder) {
    noteMade(order.place, mayShare: order.entry.mayShare)
  }

  private func noteMade(_ place: RelativePath, mayShare: Bool) {
    if !unmade.isEmpty { unmade.remove(place.bytes.hashValue) }
    if mayShare { sharing.insert(place.bytes.hashValue) }
    if options.isDryRun { rehearsed.insert(place.bytes.hashValue) }
  }

  func noteUnmade(_ place: RelativePath) { unmade.insert(place.bytes.hashValue) }

  func isUnmade(_ place: RelativePath) -> Bool { !unmade.isEmpty && unmade.contains(place.bytes.hashValue) }

  /// Whether this run created a file at a place that may share its content with a later name.
  func hasMade(_ place: RelativePath) -> Bool {
    sharing.contains(place.bytes.hashValue) && !isUnmade(place)
  }

  private func publish(_ file: StagedFile, as order: ExtractionOrder) -> ExtractionResult {
    ExtractionResult(of: order) { () throws(BatchError) in
      try writer.publish(file, as: order, by: context.commits)
    }
  }

  // MARK: Members that are made here

  private func make(_ order: ExtractionOrder, _ content: WaitingContent) throws(BatchError) {
    let verdict: ExtractionResult
    switch content {
    case _ where order.isLinkToItself:
      verdict =
        isUnmade(order.place) ? .failed(ExtractionFinisher.noFirstName.at(order.entry.path)) : .made([])
    case .lost: return noteUnmade(order.place)
    case .bytes(let bytes):
      verdict = ExtractionResult(of: order) { () throws(BatchError) in try make(order, bytes) }
    case .file(let file): verdict = publish(file, as: order)
    }
    try settle(order, verdict)
  }

  private func make(_ order: ExtractionOrder, _ bytes: [UInt8]) throws(BatchError) -> ExtractionResult {
    if let step = try writer.deferredStep(for: order) { return .deferred(step) }
    guard order.entry.kind == .file || order.entry.kind == .hardLink else {
      return try writer.makeNode(order, by: context.commits)
    }
    let made = try writer.make(order) { write throws(BatchError) in
      guard !bytes.isEmpty else { return }
      try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, 0) }
    }
    switch made {
    case .undoable(let file): return .made(file.losses)
    case .staged(let file): return try writer.publish(file, as: order, by: context.commits)
    case nil: return .kept
    }
  }

  // MARK: Files that come piece by piece

  private func begin(_ order: ExtractionOrder) throws(BatchError) {
    do throws(BatchError) {
      if let file = try writer.begin(order) { growing = consume file }
      growingOrder = order
    } catch {
      try settle(order, .failed(error.at(order.entry.path)))
    }
  }

  private func write(_ bytes: [UInt8], at offset: UInt64) throws(BatchError) {
    guard let order = growingOrder else { return }
    do throws(BatchError) {
      try withBytes(of: bytes) { (raw) throws(BatchError) in try growing?.write(raw, at: offset) }
    } catch {
      drop()
      try settle(order, .failed(error.at(order.entry.path)))
    }
  }

  private func end(_ error: BatchError?) throws(BatchError) {
    defer { drop() }
    guard var order = growingOrder else {
      // The member was refused, but the archive is damaged or unreadable here all the same.
      if let error { try fail(error) }
      return
    }
    guard let file = growing.take() else {
      // An existing file is kept.
      return try settle(order, error.map { .failed($0.at(order.entry.path)) } ?? .kept)
    }
    if !order.entry.hasSize { (order.entry.size, order.entry.hasSize) = (file.end, true) }
    do throws(BatchError) {
      if let error { throw error }
      let staged = try writer.end(file, order)
      try makeWay(for: order)
      return try settle(order, publish(staged, as: order))
    } catch {
      try fail(error.at(order.entry.path))
      if order.wait != .nothing { try makeWay(for: order) }
      noteUnmade(order.place)
    }
  }

  private func drop() {
    growing = nil
    growingOrder = nil
  }
}
