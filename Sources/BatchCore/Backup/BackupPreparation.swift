import BatchEngine

/// The decisions about a backup before it writes anything: its sources, and the previous snapshot that it uses.
package struct BackupPreparation: Sendable {
  package let header: SnapshotHeader
  /// Why this snapshot is a full one, and other remarks about the set.
  package let remarks: [BatchError]
  /// The newest snapshot of the series that this one continues; nil if it begins a series.
  package let continued: Snapshot?
  /// The stamps of the newest snapshots of all other series of the set.
  let headsOfOtherSeries: Set<String>
  let plan: BackupPlan
  private let content: BackupSet.Content
  private let set: BackupSet
  /// The folder of the set, and that of its copies: their files of sets are not archived.
  private let ownFolders: [PathBytes]
  private let sources: [SnapshotSource]
  /// The sources of the snapshot before; empty if they need not be as before.
  private var former: [SnapshotSource] = []
  /// The previous snapshot, with its manifest or this machine's copy of it.
  private let previous: Base?
  /// The snapshot that was cut and that this run continues.
  private let cutBase: Base?
  /// The snapshots of the series that were cut.
  private let cut: [Snapshot]
  /// The stamps of the snapshots that this run has made so far.
  private let earlier: Set<String>

  private typealias Base = (snapshot: Snapshot, manifest: ManifestFile)

  /// For a dry run: the set may change meanwhile, and need not exist.
  ///
  /// - Throws: `missing` or `invalid` for a source that is missing or implausible.
  package static func prepare(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, in run: RunContext
  ) throws(BatchError) -> BackupPreparation {
    let content: BackupSet.Content
    do throws(BatchError) {
      content = try set.content(in: run)
    } catch {
      guard error.isNotFound else { throw error }
      content = BackupSet.Content()
    }
    return try prepare(paths, to: set, options: options, content: content, in: run)
  }

  /// - Parameter paths: one or more.
  /// - Throws: `missing` or `invalid` for a source that is missing or implausible.
  static func prepare(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, content: BackupSet.Content,
    in run: RunContext
  ) throws(BatchError) -> BackupPreparation {
    try BackupPreparation(paths, to: set, options: options, content: content, in: run)
  }

  private init(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, content: BackupSet.Content,
    in run: RunContext
  ) throws(BatchError) {
    if options.lock == nil, !options.allowsPlain { try Self.refusePlain(in: set, content) }
    var remarks = content.damaged
    let last = (content.snapshots + content.cut).max { $0.header.sequence < $1.header.sequence }
    sources = try SourceGuard.sources(paths)
    ownFolders = [set.directory] + options.copyFolders
    for folder in ownFolders { try SourceGuard.refuse(folder, among: sources) }
    let machine = try options.machine()
    let list = try SourceList(sources.map(\.path))
    let started = options.now()
    var header = SnapshotHeader(
      name: Self.freeName(set, content, from: started.seconds, isEncrypted: options.lock != nil),
      sequence: last.map { $0.header.sequence + 1 } ?? 1, started: started, increment: 0,
      machine: machine.id, host: machine.host, sources: list, sourcesWord: try machine.word(for: list))
    var (own, others) = content.heads(besides: header, by: options.grouping, machine)
    var known: (snapshot: Snapshot, manifest: ManifestFile)?
    do throws(BatchError) {
      known = try own.flatMap { (last) throws(BatchError) in try Self.known(last, of: set, options, in: run) }
    } catch {
      try run.cancellation.check()
      remarks.append(error)
    }
    if let found = known, options.grouping.countsSources, found.snapshot.header.sourcesWord == nil,
      try SourceList(found.snapshot.footer.sources.map(\.path)) != list
    {
      // The companion of an earlier version does not name the sources, and the manifest has different ones.
      others.formUnion([found.snapshot.name.stamp])
      (own, known) = (nil, nil)
    }
    continued = own
    headsOfOtherSeries = others
    if let known {
      try SourceGuard.compare(sources, with: known.snapshot, known.manifest, options, in: run)
      if !options.allowsEmpty { former = known.snapshot.footer.sources }
    }
    // A full snapshot in which all files are read is compared with the one before too: it does not replace good content by rot.
    let isContinuing = !options.earlier.isEmpty
    let isComparable = !options.isFull || options.readsEverything && !isContinuing
    var base = isComparable ? known?.snapshot : nil
    var isFull = options.isFull
    if let snapshot = known?.snapshot, let reason = Self.reason(against: snapshot, options) {
      base = nil
      remarks.append(reason.at(set.path(snapshot.name.manifest)))
    }
    if let snapshot = base {
      let last = max(1, min(options.fullEvery ?? .max, SnapshotLine.limit - 1))
      if snapshot.header.increment + 1 >= last { isFull = true }
      if options.fullEvery == nil, !snapshot.name.hasCompressedManifest {
        remarks.append(
          BatchError(
            .changed, "was made by an earlier version, with which every seventh snapshot was full by default",
            path: set.path(snapshot.name.manifest), remedy: .makeFullSnapshots))
      }
      if isFull, !options.readsEverything {
        base = nil
      } else if let fault = content.faults(of: snapshot).first {
        base = nil
        remarks.append(
          BatchError(
            .malformed, "an archive is missing or has the wrong size, so this snapshot is full",
            path: set.path(fault.archive)))
      } else {
        do throws(BatchError) {
          if let known { try SnapshotReader.check(known.manifest, in: SourceContext(run)) }
        } catch {
          try run.cancellation.check()
          base = nil
          remarks.append(error)
        }
      }
    }
    cut = content.cut(besides: header, by: options.grouping, machine)
    earlier = Set(options.earlier.map(\.stamp))
    let cutBase =
      options.isFull && !isContinuing
      ? nil : try Self.cutBase(cut, behind: own, content, of: set, options, in: run)
    if cutBase != nil { isFull = false }
    previous = base.flatMap { base in known.map { (base, $0.manifest) } }
    self.cutBase = cutBase
    let bases = [cutBase, previous].compactMap { $0 }
    var damage = DamagedRows()
    if !bases.isEmpty {
      do throws(BatchError) {
        damage = try DamagedRows(of: bases, set, run)
      } catch {
        try run.cancellation.check()
        remarks.append(error)
      }
      for (stamp, count) in damage.counts.sorted(by: { $0.key < $1.key }) {
        let archive = SnapshotName(set: set.name, stamp: stamp, isEncrypted: header.name.isEncrypted).archive
        remarks.append(
          BatchError(
            .malformed, "is damaged: what the snapshot before needs of it (\(count) paths) is archived again",
            path: set.path(archive)))
      }
    }
    self.remarks = remarks
    if let last, header.sequence >= SnapshotLine.limit {
      throw BatchError(
        .malformed, "the sequence number of this snapshot leaves none for a later one",
        path: set.path(last.name.manifest), remedy: "remove this manifest if its snapshot is not needed")
    }
    header.increment = isFull ? 0 : bases.map { $0.snapshot.header.increment + 1 }.max() ?? 0
    self.header = header
    self.content = content
    // What is needed of an archive that cannot be compacted without a key is stored again, so that the archive goes some day.
    let unwanted =
      header.name.isEncrypted && set.keys == nil && options.leastUsed > 0
      ? set.archives(neededLessThan: options.leastUsed, by: bases.map(\.snapshot.footer), in: content) : []
    let blocks = Self.blocks(of: bases, set, options, in: run)
    var archive = options.archive
    archive.blockSeed = blocks?.seed ?? .random(in: 0...UInt64.max)
    plan = BackupPlan(
      header: header, archive: archive,
      settling: ChangeSettling(calls: run.calls, now: options.fileClock),
      selection: options.selection, filter: options.filter,
      hasOtherSelection: base.map { $0.footer.selection != options.selection } ?? false,
      readsEverything: options.readsEverything, acceptsRot: options.acceptsRot,
      recipients: options.recipients, damage: damage,
      known: isFull ? nil : Self.known(bases, damage, unwanted, in: run), unwanted: unwanted,
      blocks: blocks, frameSize: Int(try ArchiveSource.largeSize(archive) / 2),
      cut: RunCut(after: options.checkpoint, options.checkpointTime, options.stop),
      continued: cutBase?.snapshot.footer.reached,
      counted: isContinuing ? cutBase?.snapshot.footer.reached : nil)
    self.set = set
  }

  /// The contents that a snapshot need not store again; nil without a previous snapshot.
  private static func known(
    _ bases: [Base], _ damage: DamagedRows, _ unwanted: Set<String>, in run: RunContext
  ) -> KnownContents? {
    guard !bases.isEmpty else { return nil }
    return KnownContents(bases.map(\.manifest), without: damage, in: unwanted, SourceContext(run))
  }

  /// What is known about the blocks of the large files of the previous snapshots.
  ///
  /// - Parameter bases: the first one has precedence.
  private static func blocks(
    of bases: [Base], _ set: BackupSet, _ options: BackupOptions, in run: RunContext
  ) -> KnownBlocks? {
    bases.reversed().reduce(nil) { earlier, base in
      let name = base.snapshot.name
      let path =
        name.isEncrypted
        ? ManifestCopies(options.copies, of: set)?.knownBlocks(of: name) : set.path(name.blocks)
      return path.flatMap { KnownBlocks($0, SourceContext(run), earlier: earlier) } ?? earlier
    }
  }

  // MARK: Snapshots that were cut

  /// The snapshot that was cut and reached furthest, if it can be continued.
  ///
  /// - Parameter complete: the newest complete snapshot of the series; an earlier one that was cut is of no use.
  private static func cutBase(
    _ cut: [Snapshot], behind complete: Snapshot?, _ content: BackupSet.Content, of set: BackupSet,
    _ options: BackupOptions, in run: RunContext
  ) throws(BatchError) -> Base? {
    var best: (base: Base, reached: ReachedPath)?
    for snapshot in cut where snapshot.header.sequence > complete?.header.sequence ?? 0 {
      do throws(BatchError) {
        guard content.faults(of: snapshot).isEmpty,
          let found = try known(snapshot, of: set, options, in: run),
          let reached = found.snapshot.footer.reached,
          found.snapshot.footer.selection == options.selection,
          reason(against: found.snapshot, options) == nil
        else { continue }
        if let best, !reached.includes(best.reached) { continue }
        try SnapshotReader.check(found.manifest, in: SourceContext(run))
        best = (found, reached)
      } catch {
        // It costs only that its files are read again.
        try run.cancellation.check()
      }
    }
    return best?.base
  }

  /// The snapshot that was cut and that reached as far as a new one, or further; nil for a complete new one.
  func furtherCut(than footer: SnapshotFooter) -> Snapshot? {
    guard let reached = footer.reached, let former = cutBase?.snapshot, let place = former.footer.reached,
      place.includes(reached)
    else { return nil }
    return former
  }

  /// The snapshots that a new one replaces: all of the series that were cut, but after failures only those of this run.
  private func replaced(by footer: SnapshotFooter) -> [Snapshot] {
    (footer.failures ?? 0) == 0 ? cut : cut.filter { earlier.contains($0.name.stamp) }
  }

  /// The stamps of snapshots besides the new one from which a later run may continue.
  func stampsOfOtherHeads(after footer: SnapshotFooter) -> Set<String> {
    var stamps = headsOfOtherSeries.union((content.cut).map(\.name.stamp))
    stamps.subtract(replaced(by: footer).map(\.name.stamp))
    // A run that is cut again goes on from the last complete one.
    if footer.isCut, let previous { stamps.insert(previous.snapshot.name.stamp) }
    return stamps
  }

  /// Removes the snapshots that a new one replaces, and their archives that no snapshot needs.
  ///
  /// - Throws: the error for which they stay; a later run removes them.
  func removeReplaced(
    by new: BackupContent, _ lock: SetLock, _ patience: SetLock.Patience, isSynced: Bool, in run: RunContext
  ) throws(BatchError) {
    let replaced = replaced(by: new.footer)
    guard !replaced.isEmpty else { return }
    var content = try set.content(in: run)
    guard content.damaged.isEmpty else { return }
    content.cut.removeAll { snapshot in replaced.contains { $0.name == snapshot.name } }
    try Prune.replaced(replaced, of: set, in: content).remove(lock, patience, isSynced: isSynced, in: run)
  }

  /// Whether the set has no manifest yet that earlier versions of this program refuse.
  var needsMarker: Bool { content.markers.isEmpty }

  /// Whether the set has snapshots of other series only.
  package var beginsFurtherSeries: Bool { continued == nil && !headsOfOtherSeries.isEmpty }

  /// The snapshots of the series that rules would remove after this one was made without failures.
  package func removals(
    _ retention: Retention, by grouping: Series.Grouping, suspects: Set<String>
  ) -> [Snapshot] {
    afterwards(retention, by: grouping, suspects: suspects, known: []).removed
  }

  private func afterwards(
    _ retention: Retention, by grouping: Series.Grouping, suspects: Set<String>, known: Set<String>
  ) -> Prune {
    var content = content
    var footer = SnapshotFooter()
    footer.isVerified = plan.archive.isRemembered
    content.snapshots.append(Snapshot(name: header.name, header: header, footer: footer))
    return Prune(
      retention, of: set, content, by: grouping, of: header.name, suspects: suspects, known: known,
      now: header.started.seconds)
  }

  /// Removes the snapshots that the rules will not keep beside the new one, except those that stay as long as it does not exist: the
  /// newest one, the newest one without failures, and the newest verified one.
  ///
  /// - Throws: the error for which nothing, or not everything, was removed.
  func removeBefore(
    _ lock: SetLock, _ options: BackupOptions, in run: RunContext
  ) throws(BatchError) -> [Snapshot] {
    var set = set
    // As in a removal afterwards: opening all manifests with a passphrase would take a second for each.
    set.keys = nil
    if let damaged = content.damaged.first { throw BackupSet.nothingIsRemoved(because: damaged) }
    let (suspects, known) = (try set.foundDamage().suspects, set.knownStamps(of: content.snapshots))
    let newest = Prune(
      Retention(counts: [.last: 1]), of: set, content, by: options.grouping, suspects: suspects, known: known,
      now: header.started.seconds)
    let prune = afterwards(options.retentionBefore, by: options.grouping, suspects: suspects, known: known)
      .keeping(
        Set(newest.decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot.name)), without: header.name)
    try prune.remove(lock, options.patience, isSynced: options.isSynced, in: run)
    return prune.removed
  }

  /// - Parameter walk: the options of a walk, which may leave out mount points.
  /// - Throws: `invalid` for a file system below a source that is not mounted any more.
  func checkMounts(_ walk: WalkOptions, in run: RunContext) throws(BatchError) {
    try SourceGuard.checkMounts(of: former, sources, walk, run.calls)
  }

  /// The absolute paths of the sources.
  package var paths: [PathBytes] { sources.map(\.path) }

  /// - Parameter walk: the options of a walk that takes everything.
  package func source(_ walk: WalkOptions, in run: RunContext) throws(BatchError) -> BackupSource {
    var (walk, links, reread) = (walk, FormerLinks(), RereadFiles())
    walk.followsOperands = true
    try checkMounts(walk, in: run)
    if previous != nil || cutBase != nil {
      // In a tree with few changes the walk is most of the work.
      walk.readAheadThreshold = .zero
      if let previous, cutBase == nil, previous.snapshot.footer.linked != 0, !plan.hasOtherSelection {
        links = try FormerLinks(in: previous.manifest, of: sources, walk, in: SourceContext(run))
      }
      if plan.readsEverything, let rows = try rows(in: run) {
        reread = try RereadFiles(comparedWith: rows, of: sources, plan, walk, in: run)
      }
    }
    return try BackupSource(
      run.tree(paths, options: walk), sources: sources, plan: plan, previous: try rows(in: run),
      former: links,
      reread: reread,
      ownFolders: Dictionary(
        ownFolders.compactMap { folder in
          guard let status = try? run.calls.status(of: folder, followingLinks: true) else { return nil }
          let sets = (try? BackupSet.names(in: folder, calls: run.calls)) ?? []
          return (status.identity, Set(sets + [set.name]))
        }, uniquingKeysWith: { $0.union($1) }))
  }

  /// Nil without a previous snapshot.
  private func rows(in run: RunContext) throws(BatchError) -> sending PreviousRows? {
    guard previous != nil || cutBase != nil else { return nil }
    let context = SourceContext(run)
    return try PreviousRows(
      cut: cutBase.flatMap { (base) throws(BatchError) in
        try base.snapshot.footer.reached.map { (reached) throws(BatchError) in
          (try SnapshotReader(base.manifest, in: context), reached)
        }
      },
      complete: previous.map { (base) throws(BatchError) in try SnapshotReader(base.manifest, in: context) })
  }

  /// The first second, from a given time on, whose name is not used yet: the clock may have been set back.
  private static func freeName(
    _ set: BackupSet, _ content: BackupSet.Content, from seconds: Int64, isEncrypted: Bool
  ) -> SnapshotName {
    let all = content.snapshots + content.cut
    let taken = Set(all.map(\.name.stamp)).union(content.archives.keys.map(\.stamp))
      .union(all.flatMap(\.footer.needs.keys))
    var seconds = seconds
    while taken.contains(LocalTime.stamp(of: seconds)) { seconds += 1 }
    return SnapshotName(set: set.name, seconds: seconds, isEncrypted: isEncrypted)
  }

  /// The newest snapshot, and the file from which its rows are read.
  ///
  /// - Throws: `missing` when its manifest is encrypted and this machine has no copy of it.
  private static func known(
    _ last: Snapshot, of set: BackupSet, _ options: BackupOptions, in run: RunContext
  ) throws(BatchError) -> (snapshot: Snapshot, manifest: ManifestFile)? {
    guard last.name.isEncrypted else { return (last, set.manifest(of: last.name)) }
    if let copy = try ManifestCopies(options.copies, of: set)?.copy(of: last, in: run) {
      let (header, footer) = try SnapshotReader.facts(copy, in: SourceContext(run))
      if header.name.stamp == last.name.stamp {
        return (Snapshot(name: last.name, header: last.header, footer: footer), copy)
      }
    }
    if set.keys != nil { return (try set.opened(last, in: run), set.manifest(of: last.name)) }
    throw BatchError(
      .missing,
      "is encrypted and this machine has no matching copy"
        + (options.copies.map { " in \($0.path)" } ?? ", since it has no folder for it")
        + ", so this snapshot is full",
      path: set.path(last.name.manifest))
  }

  /// Why a snapshot cannot be used as the previous one; nil if it can.
  private static func reason(against snapshot: Snapshot, _ options: BackupOptions) -> BatchError? {
    let isEncrypted = options.lock != nil
    if snapshot.name.isEncrypted != isEncrypted {
      return BatchError(
        .changed,
        isEncrypted
          ? "is not encrypted but this snapshot is, so it is full"
          : "is encrypted but this snapshot is not, so it is full")
    }
    guard snapshot.footer.recipients != options.recipients else { return nil }
    return BatchError(.changed, "is encrypted for other recipients, so this snapshot is full")
  }

  /// - Throws: `ambiguous` when the newest snapshot of the set is encrypted, or may be.
  private static func refusePlain(in set: BackupSet, _ content: BackupSet.Content) throws(BatchError) {
    guard content.snapshots.last?.name.isEncrypted == true || content.hasDamagedEncrypted else { return }
    throw BatchError(
      .ambiguous, "the newest snapshot of this set is encrypted, and this one would not be",
      path: content.snapshots.last.map { set.path($0.name.manifest) } ?? set.directory,
      remedy: .encryptOrAllowPlain)
  }
}
