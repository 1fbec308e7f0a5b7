import BatchEngine
import BatchOutputs
import var Glibc.EEXIST

/// The steps that need the work of several lanes, or of several shards: further names of files, and the metadata of folders.
struct MirrorFinisher {
  let folder: ContainedFolder
  let options: MirroringOptions
  let metadata: MirrorMetadata
  let times: TimeSteps
  let right: CommitRight
  /// Calls a function on several threads.
  let strides: (_ count: Int, _ least: Int, @Sendable (Int) -> [Described]) -> [[Described]]
  /// Whether a first name must have the size and time of its source: another shard may have failed to copy it.
  var comparesFirst = false

  /// What was done with a folder.
  struct Described: Sendable {
    let node: FolderTree.Node
    /// Nil for a folder that is only on the way to others; or why it cannot be opened.
    let result: Result<(outcome: MirrorReport.Outcome, losses: EntryMetadata.Losses)?, BatchError>
  }

  /// Makes an entry under its name, over an existing one if that may be replaced.
  ///
  /// Stale temporary files of its folder are removed before.
  ///
  /// - Returns: 0 or the error number.
  func give(
    _ place: RelativePath, in parent: OpenFolder, replacing isReplacing: Bool, _ make: (PathBytes) -> Int32
  ) -> Int32 {
    if !folder.hasMade(place.parent) { folder.clear(parent, place.parent) }
    let name = place.name
    if !isReplacing {
      let failed = -make(name)
      guard failed == EEXIST else { return failed }
    }
    return parent.replace(name, in: folder.area, by: right, make)
  }

  /// Makes a further name of a file whose first name exists, unless it is there.
  ///
  /// - Throws: with ``Remedy/removeOthers`` if a folder has the name.
  func makeName(
    _ report: MirrorReport, _ first: RelativePath, after current: inout ContainedFolder.Place?
  ) throws(BatchError) -> MirrorReport.Outcome {
    let place = report.place
    if options.isDryRun {
      let found = try folder.openIfThere(place.parent)?.look(at: place.name)
      if found?.kind == .directory { throw MirrorWorker.inTheWay("a folder", shown(place)) }
      let wanted = try folder.openIfThere(first.parent)?.look(at: first.name)
      return found != nil && found?.identity == wanted?.identity ? .upToDate : .linked
    }
    let source: OpenFolder
    do throws(BatchError) {
      source = try folder.open(first.parent, creating: false)
    } catch {
      throw error.isNotFound ? ExtractionFinisher.noFirstName : error
    }
    guard let status = try source.look(at: first.name), status.kind == report.kind else {
      throw ExtractionFinisher.noFirstName
    }
    guard
      !comparesFirst || options.keeping != .none
        || (report.kind != .regular || status.size == report.size)
          && times.areEqual(report.modified, status.modified, in: source)
    else { throw ExtractionFinisher.noFirstName }
    let parent: OpenFolder
    do throws(BatchError) {
      parent = try folder.enter(place.parent, after: &current).folder
    } catch {
      throw error.code == .invalid ? MirrorWorker.inTheWay("a file or a link", shown(place)) : error
    }
    let found = try parent.look(at: place.name)
    if found?.identity == status.identity { return .upToDate }
    if found?.kind == .directory { throw MirrorWorker.inTheWay("a folder", shown(place)) }
    if let found,
      options.keeping == .existing || options.keeping == .newer && found.modified > status.modified
    {
      return .kept
    }
    // While the link has a temporary name, other runs would treat an unlocked inode as left by a dead run.
    let lock = found == nil ? nil : ExtractionFinisher.lock(first.name, in: source)
    defer { withExtendedLifetime(lock) {} }
    let failed = give(place, in: parent, replacing: found != nil) {
      parent.calls.link(first.name, in: source.raw, as: $0, in: parent.raw)
    }
    guard failed == 0 else { throw MemberWriter.failure(failed) }
    guard try parent.look(at: place.name)?.identity == status.identity else {
      throw BatchError(.changed, "another process replaced the file that it is a hard link to")
    }
    return .linked
  }

  private func shown(_ place: RelativePath) -> PathBytes { folder.path.appending(place.bytes) }

  /// Sets the metadata of folders, each after everything below it; what is equal is not set again.
  ///
  /// - Parameters:
  ///   - settle: receives each folder with what was done.
  ///   - failed: receives an error and the folder.
  func describe(
    _ folders: FolderTree, _ entries: [FolderTree.Node: (report: MirrorReport, entry: ArchiveEntry)],
    settle: (MirrorReport) throws(BatchError) -> Void, failed: (BatchError, MirrorReport) -> Void
  ) throws(BatchError) {
    let opener = folder.opener
    let descent = FolderDescent(folders, below: folder.root, holding: opener.giveUpHeld(), opener: opener)
    let describer = FolderDescriber(folder: folder, metadata: metadata, times: times)
    try descent.visit(by: strides) { visit in
      Described(
        node: visit.node,
        result: visit.folder.map { opened in
          entries[visit.node].map { (listed, entry) in
            describer.describe(opened, listed, entry, isRoot: visit.node == FolderTree.root)
          }
        })
    } then: { (described) throws(BatchError) in
      guard var report = entries[described.node]?.report else { return }
      switch described.result {
      case .success(let done?):
        report.outcome = done.outcome
        report.losses.formUnion(done.losses)
        try settle(report)
      case .success(nil): break
      case .failure(let error): failed(error, report)
      }
    }
  }
}

/// Sets the metadata of folders, on several threads.
private struct FolderDescriber: Sendable {
  let folder: ContainedFolder
  let metadata: MirrorMetadata
  let times: TimeSteps

  func describe(
    _ opened: OpenFolder, _ listed: MirrorReport, _ entry: ArchiveEntry, isRoot: Bool
  ) -> (outcome: MirrorReport.Outcome, losses: EntryMetadata.Losses) {
    let isMade = !isRoot && (listed.outcome == .copied || folder.hasMade(listed.place))
    let found = MirrorMetadata.copied(AttributeReader.attributes(of: opened.raw))
    if !isMade, found == entry.attributes, let now = try? opened.calls.status(of: opened.raw),
      metadata.isEqual(
        entry, from: listed.owner, to: now, hasTime: times.areEqual(entry.modified, now.modified, in: opened))
    {
      return (.upToDate, [])
    }
    var losses = EntryMetadata.Losses()
    if !metadata.removeOthers(found, than: entry.attributes, from: opened.raw) {
      losses.insert(.attributes)
    }
    losses.formUnion(
      metadata.setter(of: entry, from: listed.owner).apply(
        to: opened.raw, lists: isMade ? .ofNewFolder : .ofFolder))
    return (isMade ? .copied : .described, losses)
  }
}
