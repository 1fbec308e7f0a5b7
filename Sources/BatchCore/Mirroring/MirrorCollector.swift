import BatchEngine
import BatchOutputs
import var Glibc.EEXIST

/// Takes the rows of the lanes in tree order: commits files, makes links, FIFOs and devices, counts and reports; at the end it
/// removes what the source does not have, and sets the metadata of folders.
package final class MirrorCollector: BatchCollector {
  package typealias Output = [MirrorRow]
  package typealias Summary = MirrorResult

  /// A row that has not been reported.
  private enum Waiting {
    case report(MirrorReport)
    case output(MirrorReport, StagedOutput.ID)
    case name(FileRecord, RelativePath, first: RelativePath)
  }

  /// If more rows than these wait for an output, the staged outputs are committed at once.
  private static let mostWaiting = 4096
  /// tmpfs and ramfs (linux/magic.h).
  private static let inMemory = [0x0102_1994, 0x8584_58F6]

  let target: MirrorTarget
  let setting: MirrorJob.Setting
  let context: CollectorContext
  private let commits: OutputStage.Commits
  private let asked: AskedItems<MirrorItem>?
  private let report: (MirrorReport) throws(BatchError) -> Void
  private var waiting: [Waiting] = []
  /// How many of the waiting rows were reported.
  private var reported = 0
  private var current: ContainedFolder.Place?
  var result = MirrorResult()
  /// The folders of the source, and their entries.
  var folders = FolderTree()
  var entries: [FolderTree.Node: (report: MirrorReport, entry: ArchiveEntry)] = [:]
  /// Entries whose place is taken by something else, with the reason.
  private var obstructed: [(record: FileRecord, place: RelativePath, error: BatchError)] = []
  /// Hashes of the places of files that were not made, or not yet.
  private var unmade: Set<Int> = []
  private var lateNames: [(record: FileRecord, place: RelativePath, first: RelativePath)] = []
  /// The digests of files with several names.
  private var digests: [FileIdentity: Digest] = [:]
  private var losses: [Int: (path: PathBytes, count: Int)] = [:]
  private var hasRemoved = false
  /// How many items were requested.
  private var requests = 0

  init(
    _ target: MirrorTarget, _ setting: MirrorJob.Setting, asked: AskedItems<MirrorItem>?,
    in context: CollectorContext, report: @escaping (MirrorReport) throws(BatchError) -> Void
  ) {
    (self.target, self.setting, self.asked, self.context) = (target, setting, asked, context)
    self.report = report
    commits = target.stage.commits(by: context.commits)
  }

  var options: MirrorOptions { target.options }

  /// Complete files get their names after a stop too.
  package var collectsAfterStop: Bool { true }

  package func collect(_ rows: [MirrorRow]) throws(BatchError) {
    for row in rows { try add(row) }
    current = nil
    try reportSettled()
    if waiting.count - reported > Self.mostWaiting {
      commits.flush()
      try reportSettled()
    }
    context.note(kept: waiting.count - reported)
  }

  private func add(_ row: MirrorRow) throws(BatchError) {
    switch row {
    case .settled(let report): waiting.append(.report(report))
    case .staged(let report, let output): waiting.append(.output(report, output.id))
    case .node(let report, let entry): make(report, entry)
    case .folder(let report, let entry):
      entries[folders.insert(report.place.bytes[...])] = (report, entry)
      if report.outcome == .copied, options.isDryRun { try self.report(report) }
    case .name(let record, let place, let first): waiting.append(.name(record, place, first: first))
    case .equal(let report, let record, let copy, let identity): link(report, record, copy, identity)
    case .obstructed(let record, let place, let error):
      unmade.insert(place.bytes.hashValue)
      obstructed.append((record, place, error))
    case .part: break
    case .large(let copy): try add(copy.row ?? .failed(copy.place))
    case .failed(let place): unmade.insert(place.bytes.hashValue)
    case .verified: result.verified += 1
    case .different(let error):
      result.different += 1
      context.report(Problem(.changed, error), severity: .failure)
    }
  }

  private func fail(_ error: BatchError, at place: RelativePath) {
    unmade.insert(place.bytes.hashValue)
    context.counters.addFailed()
    context.report(
      Problem(.unreadable, error.path == nil ? error.at(target.path(of: place)) : error), severity: .failure)
  }

  // MARK: Reports in order

  private func reportSettled() throws(BatchError) {
    while reported < waiting.count {
      switch waiting[reported] {
      case .report(let report): try settle(report)
      case .output(let report, let id):
        guard let outcome = commits.outcome(of: id) else { return compact() }
        switch outcome {
        case .committed: try settle(report)
        case .failed(let error), .unwritten(_, let error): fail(error, at: report.place)
        case .withoutFirst: break
        }
      case .name(let record, let place, let first): try addName(record, place, first)
      }
      reported += 1
    }
    compact()
  }

  private func compact() {
    guard reported * 2 >= waiting.count else { return }
    if reported == waiting.count { waiting.removeAll(keepingCapacity: true) } else { waiting.removeFirst(reported) }
    reported = 0
  }

  /// Counts and reports an entry.
  func settle(_ report: MirrorReport) throws(BatchError) {
    note(report.losses, report.path)
    var isFirstName = true
    if let digest = report.digest, let identity = report.identity {
      isFirstName = digests.updateValue(digest, forKey: identity) == nil
    }
    if let reason = report.skipReason {
      context.counters.addSkipped(reason)
    } else {
      context.counters.addDone()
    }
    result.count(report)
    if report.digest != nil { result.rows += 1 }
    // A file that was kept is not compared: it differs on purpose.
    if options.verifies, report.outcome != .kept, isFirstName, let digest = report.digest {
      ask(
        .verification(
          MirroredFile(path: report.path, place: report.place, size: report.size, digest: digest)))
    }
    try self.report(report)
  }

  private func note(_ losses: EntryMetadata.Losses, _ path: PathBytes) {
    guard !losses.isEmpty else { return }
    for (number, known) in EntryMetadata.Losses.texts.enumerated() where losses.contains(known.loss) {
      self.losses[number, default: (path, 0)].count += 1
    }
  }

  private func ask(_ item: MirrorItem) {
    requests += 1
    asked?.ask(item)
  }

  // MARK: Names

  private func enter(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
    try target.folder.enter(path, after: &current).folder
  }

  private func make(_ report: MirrorReport, _ entry: ArchiveEntry) {
    var report = report
    do throws(BatchError) {
      let parent = try enter(report.place.parent)
      let (calls, name) = (parent.calls, report.place.name)
      let make = { (name: PathBytes) in
        entry.kind == .symbolicLink
          ? calls.makeSymbolicLink(name, in: parent.raw, to: entry.linkTarget ?? "")
          : calls.makeNode(
            name, in: parent.raw, kind: report.kind, permissions: 0o600, major: entry.deviceMajor,
            minor: entry.deviceMinor)
      }
      let failed = give(name, in: parent, replacing: report.outcome == .updated, make)
      guard failed == 0 else { throw MemberWriter.failure(failed) }
      report.losses.formUnion(
        try target.metadata.setter(of: entry, from: report.owner).apply(toMade: name, in: parent))
      waiting.append(.report(report))
    } catch {
      fail(error, at: report.place)
    }
  }

  /// Makes an entry under its name, over an existing one if that may be replaced.
  private func give(
    _ name: PathBytes, in parent: OpenFolder, replacing isReplacing: Bool, _ make: (PathBytes) -> Int32
  ) -> Int32 {
    if !isReplacing {
      let failed = -make(name)
      guard failed == EEXIST else { return failed }
    }
    return parent.replace(name, in: target.folder.area, by: context.commits, make)
  }

  /// Makes a file of another copy a further name in the target; if that is impossible, the file is copied.
  private func link(_ report: MirrorReport, _ record: FileRecord, _ copy: Int, _ identity: FileIdentity) {
    do throws(BatchError) {
      let parent = try enter(report.place.parent)
      let root = target.copies[copy]
      let folder = try target.folder.opener.folder(
        report.place.parent, below: root, shown: root.path, isSearched: true)
      let name = report.place.name
      let failed = give(name, in: parent, replacing: try parent.look(at: name) != nil) {
        folder.calls.link(name, in: folder.raw, as: $0, in: parent.raw)
      }
      if failed == 0 {
        if try parent.look(at: name)?.identity == identity { return waiting.append(.report(report)) }
        parent.remove(name, by: context.commits)
      }
      unmade.insert(report.place.bytes.hashValue)
      ask(.again(record, mayLink: false))
    } catch {
      fail(error, at: report.place)
    }
  }

  /// Makes a further name of a file whose first name was made before.
  private func addName(
    _ record: FileRecord, _ place: RelativePath, _ first: RelativePath, isLast: Bool = false
  ) throws(BatchError) {
    if !isLast, unmade.contains(first.bytes.hashValue) {
      lateNames.append((record, place, first))
      return
    }
    defer { current = nil }
    do throws(BatchError) {
      guard let report = try name(record, place, first) else { return }
      try settle(report)
    } catch {
      fail(error, at: place)
    }
  }

  private func name(
    _ record: FileRecord, _ place: RelativePath, _ first: RelativePath
  ) throws(BatchError) -> MirrorReport? {
    var report = MirrorReport(record, place, .upToDate)
    report.digest = record.status.kind == .regular ? digests[record.status.identity] : nil
    guard !options.isDryRun else {
      let parent = try target.folder.openIfThere(place.parent)
      let source = try target.folder.openIfThere(first.parent)
      let found = try parent?.look(at: place.name)
      if found?.kind == .directory {
        obstructed.append((record, place, MirrorWorker.inTheWay("a folder", target.path(of: place))))
        return nil
      }
      let wanted = try source?.look(at: first.name)
      if found == nil || found?.identity != wanted?.identity { report.outcome = .linked }
      return report
    }
    let source: OpenFolder
    do throws(BatchError) {
      source = try target.folder.open(first.parent, creating: false)
    } catch {
      throw error.isNotFound ? ExtractionFinisher.noFirstName : error
    }
    let parent = try enter(place.parent)
    guard let status = try source.look(at: first.name), status.kind == record.status.kind else {
      throw ExtractionFinisher.noFirstName
    }
    let found = try parent.look(at: place.name)
    if found?.identity == status.identity { return report }
    if found?.kind == .directory {
      unmade.insert(place.bytes.hashValue)
      lateNames.append((record, place, first))
      obstructed.append((record, place, MirrorWorker.inTheWay("a folder", target.path(of: place))))
      return nil
    }
    if let found, options.keeping == .existing || options.keeping == .newer && found.modified > status.modified {
      report.outcome = .kept
      report.digest = nil
      return report
    }
    report.outcome = .linked
    let failed = give(place.name, in: parent, replacing: found != nil) {
      parent.calls.link(first.name, in: source.raw, as: $0, in: parent.raw)
    }
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    guard try parent.look(at: place.name)?.identity == status.identity else {
      throw BatchError(.changed, "another process replaced the file that it is a hard link to")
    }
    return report
  }

  // MARK: The end

  package func requestMore() throws(BatchError) -> Bool {
    let before = requests
    commits.flush()
    try reportSettled()
    guard requests == before else { return true }
    guard !hasRemoved else { return false }
    hasRemoved = true
    let inTheWay = obstructed
    obstructed = []
    var isRemoving = options.removal != nil
    if isRemoving {
      do throws(BatchError) {
        try remove(inTheWay.map(\.place))
      } catch {
        guard error.code != .cancelled else { throw error }
        isRemoving = false
        result.refusal = error
      }
    }
    guard isRemoving else {
      for (_, place, error) in inTheWay { fail(error, at: place) }
      return false
    }
    guard !options.isDryRun else {
      for (record, place, _) in inTheWay { try settle(MirrorReport(record, place, .copied)) }
      return false
    }
    // Names are made at the end, after their first ones.
    let late = Set(lateNames.map(\.place.bytes))
    let again = inTheWay.filter { !late.contains($0.place.bytes) }
    for (_, place, _) in again { unmade.remove(place.bytes.hashValue) }
    for (record, _, _) in again { ask(.again(record, mayLink: true)) }
    return !again.isEmpty
  }

  private func remove(_ obstructed: [RelativePath]) throws(BatchError) {
    let counts = context.counters.snapshot
    guard counts.failed == 0, counts.reasons[.permitted(.unreadable)] == nil else {
      throw BatchError(.invalid, "nothing was removed, because a part of the source could not be read or copied")
    }
    var removal = MirrorRemoval(
      target, setting, folders, described: Set(entries.keys), obstructed: obstructed, in: context)
    try removal.judge()
    result.removed = try removal.remove(report)
  }

  package func finish() throws(BatchError) -> MirrorResult {
    commits.flush()
    try reportSettled()
    // Something came into the way again.
    for (_, place, error) in obstructed { fail(error, at: place) }
    for (record, place, first) in lateNames { try addName(record, place, first, isLast: true) }
    try reportSettled()
    current = nil
    try describeFolders()
    for (number, known) in EntryMetadata.Losses.texts.enumerated() {
      if let loss = losses[number] { result.losses.append((known.text, loss.path, loss.count)) }
    }
    for error in target.stage.folders.finish() { context.report(Problem(.unreadable, error), severity: .warning) }
    target.folder.area.clear()
    let root = target.folder.root
    result.isUnproved =
      options.verifies && context.calls.fileSystemType(of: root.raw).map(Self.inMemory.contains) ?? false
    if options.isSynced, !options.isDryRun {
      do throws(BatchError) { try target.folder.sync() } catch { result.failure = error }
    }
    return result
  }

  package func discard() {
    commits.flushLast { targets in
      for target in targets {
        context.report(
          Problem(
            .special,
            BatchError(
              .special, "is complete and waits for the disk; a second signal discards it", path: target)),
          severity: .warning)
      }
    }
    if context.cancellation.isFromOutside { try? reportSettled() }
    _ = target.stage.folders.finish()
    target.folder.area.clear()
  }

  /// Sets the metadata of folders, each after everything below it.
  private func describeFolders() throws(BatchError) {
    guard !options.isDryRun else {
      for (report, _) in entries.values {
        note(report.losses, report.path)
        context.counters.addDone(report.outcome == .copied ? 1 : 0)
        if report.outcome == .copied { result.folders += 1 } else { context.counters.addSkipped(.upToDate) }
      }
      return
    }
    let opener = target.folder.opener
    let descent = FolderDescent(folders, below: target.folder.root, holding: opener.giveUpHeld(), opener: opener)
    try descent.visit { (visit) throws(BatchError) in
      guard let (listed, entry) = entries[visit.node] else { return }
      var report = listed
      switch visit.folder {
      case .success(let folder):
        let isMade = visit.node != FolderTree.root && target.folder.hasMade(report.place)
        report.outcome = isMade ? .copied : .upToDate
        let found = isMade ? [] : MirrorMetadata.copied(AttributeReader.attributes(of: folder.raw))
        let now = try? folder.calls.status(of: folder.raw)
        if let now, !isMade, found == entry.attributes,
          target.metadata.isEqual(
            entry, from: listed.owner, to: now,
            hasTime: target.times.areEqual(entry.modified, now.modified, in: folder))
        {
          return try settle(report)
        }
        if !isMade { report.outcome = .described }
        if !target.metadata.removeOthers(found, than: entry.attributes, from: folder.raw) {
          report.losses.insert(.attributes)
        }
        report.losses.formUnion(
          target.metadata.setter(of: entry, from: listed.owner).apply(to: folder.raw, lists: isMade ? .ofNewFolder : .ofFolder))
        try settle(report)
      case .failure(let error): fail(error, at: report.place)
      }
    }
  }
}
