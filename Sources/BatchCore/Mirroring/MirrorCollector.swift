import BatchEngine
import BatchOutputs

/// Takes the rows of the lanes in tree order: commits files, makes links, FIFOs and devices, counts and reports; at the end it
/// removes what the source does not have, and sets the metadata of folders.
package final class MirrorCollector: BatchCollector {
  package typealias Output = [MirrorRow]
  package typealias Summary = MirrorResult

  /// A row that has not been reported.
  private enum Waiting {
    case report(MirrorReport)
    case output(MirrorReport, StagedOutput.ID)
    case name(MirrorReport, first: RelativePath)
    /// A name that the merge makes. It has its place among the rows of the manifest.
    case nameElsewhere(MirrorReport, first: RelativePath)
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
  private var obstructed: [(record: FileRecord?, place: RelativePath, error: BatchError)] = []
  /// Hashes of the places of files that were not made, or not yet.
  private var unmade: Set<Int> = []
  private var lateNames: [(report: MirrorReport, first: RelativePath)] = []
  /// The digests of files with several names.
  private var digests: [FileIdentity: Digest] = [:]
  private var losses: [Int: (path: PathBytes, count: Int)] = [:]
  private var hasRemoved = false
  /// How many items were requested.
  private var requests = 0

  /// Receives what a merge must do; nil without shards.
  private let shard: ((MirrorRecord) throws(BatchError) -> Void)?
  private let finisher: MirrorFinisher

  init(
    _ target: MirrorTarget, _ setting: MirrorJob.Setting, asked: AskedItems<MirrorItem>?,
    in context: CollectorContext, report: @escaping (MirrorReport) throws(BatchError) -> Void
  ) {
    (self.target, self.setting, self.asked, self.context) = (target, setting, asked, context)
    self.report = report
    commits = target.stage.commits(by: context.commits)
    shard = setting.shard
    finisher = MirrorFinisher(
      folder: target.folder, options: setting.options, metadata: target.metadata, times: target.times,
      right: context.commits, strides: { context.strides($0, least: $1, $2) })
  }

  var options: MirroringOptions { target.options }

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
    case .staged(let report, let output): waiting.append(.output(report, output))
    case .node(let report, let entry): make(report, entry)
    case .folder(let report, let entry):
      guard shard == nil else { return try addToShard(report, entry) }
      let node = folders.insert(report.place.bytes[...])
      // If two sources share a folder, it is described by the first one.
      guard entries[node] == nil else { return context.counters.addSkipped(.repeated) }
      entries[node] = (report, entry)
      if report.outcome == .copied, options.isDryRun { try self.report(report) }
    case .name(let report, let first, let isElsewhere):
      let isLeft = isElsewhere && shard != nil
      waiting.append(isLeft ? .nameElsewhere(report, first: first) : .name(report, first: first))
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

  /// Passes a folder on to the merge, which sets its metadata.
  private func addToShard(_ report: MirrorReport, _ entry: ArchiveEntry) throws(BatchError) {
    var report = report
    report.outcome = target.folder.hasMade(report.place) ? .copied : .upToDate
    try settle(report)
    try shard?(.folder(report, entry))
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
      case .name(let report, let first): try addName(report, first)
      case .nameElsewhere(let report, let first):
        context.counters.addDone()
        try shard?(.name(report, first: first))
      }
      reported += 1
    }
    compact()
  }

  private func compact() {
    guard reported * 2 >= waiting.count else { return }
    if reported == waiting.count {
      waiting.removeAll(keepingCapacity: true)
    } else {
      waiting.removeFirst(reported)
    }
    reported = 0
  }

  /// Counts and reports an entry.
  func settle(_ report: MirrorReport) throws(BatchError) {
    note(report.losses, report.path)
    if !unmade.isEmpty { unmade.remove(report.place.bytes.hashValue) }
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
    if let digest = report.digest {
      result.rows += 1
      try shard?(.digest(report.place, digest, size: report.size, isShared: report.identity != nil))
    }
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
      let failed = finisher.give(report.place, in: parent, replacing: report.outcome == .updated, make)
      guard failed == 0 else { throw MemberWriter.failure(failed) }
      report.losses.formUnion(
        try target.metadata.setter(of: entry, from: report.owner).apply(toMade: name, in: parent))
      waiting.append(.report(report))
    } catch {
      fail(error, at: report.place)
    }
  }

  /// Makes a file of another copy a further name in the target; if that is impossible, the file is copied.
  private func link(_ report: MirrorReport, _ record: FileRecord, _ copy: Int, _ identity: FileIdentity) {
    do throws(BatchError) {
      let parent = try enter(report.place.parent)
      let root = target.copies[copy]
      let folder = try target.folder.opener.folder(
        report.place.parent, below: root, shown: root.path, isSearched: true)
      let name = report.place.name
      let failed = finisher.give(report.place, in: parent, replacing: try parent.look(at: name) != nil) {
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
  private func addName(_ report: MirrorReport, _ first: RelativePath, isLast: Bool = false) throws(BatchError)
  {
    if !isLast, unmade.contains(first.bytes.hashValue) {
      lateNames.append((report, first))
      return
    }
    // The target may have an older version of the first name.
    guard !unmade.contains(first.bytes.hashValue) else {
      return fail(ExtractionFinisher.noFirstName, at: report.place)
    }
    defer { current = nil }
    var report = report
    if report.kind == .regular, let identity = report.identity { report.digest = digests[identity] }
    do throws(BatchError) {
      report.outcome = try finisher.makeName(report, first, after: &current)
      try settle(report)
    } catch {
      guard error.remedy == .removeOthers, !isLast else { return fail(error, at: report.place) }
      unmade.insert(report.place.bytes.hashValue)
      lateNames.append((report, first))
      obstructed.append((nil, report.place, error))
    }
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
      for (record, place, _) in inTheWay {
        unmade.remove(place.bytes.hashValue)
        if let record { try settle(MirrorReport(record, place, .copied)) }
      }
      return false
    }
    for (record, place, _) in inTheWay {
      unmade.remove(place.bytes.hashValue)
      // Further names are made at the end, after their first ones.
      if let record { ask(.again(record, mayLink: true)) }
    }
    return requests > before
  }

  private func remove(_ obstructed: [RelativePath]) throws(BatchError) {
    let counts = context.counters.snapshot
    guard counts.failed == 0, counts.reasons[.permitted(.unreadable)] == nil else {
      throw BatchError(
        .invalid, "nothing was removed, because a part of the source could not be read or copied")
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
    for (report, first) in lateNames { try addName(report, first, isLast: true) }
    try reportSettled()
    current = nil
    try describeFolders()
    for (number, known) in EntryMetadata.Losses.texts.enumerated() {
      if let loss = losses[number] { result.losses.append((known.text, loss.path, loss.count)) }
    }
    for error in target.stage.folders.finish() {
      context.report(Problem(.unreadable, error), severity: .warning)
    }
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
    try finisher.describe(folders, entries) { (report) throws(BatchError) in
      try settle(report)
    } failed: { (error, report) in
      fail(error, at: report.place)
    }
  }
}
