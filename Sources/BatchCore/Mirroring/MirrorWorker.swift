import BatchEngine
import BatchOutputs

/// Compares entries of a source with those of the target, and copies what is not equal.
package final class MirrorWorker: BatchWorker {
  package typealias Item = MirrorItem
  package typealias Output = [MirrorRow]

  /// A file that waits for its digest, and the place of its row.
  struct Waiting {
    let row: Int
    let record: FileRecord
    let outcome: ReadOutcome
    let known: CachedDigests.Known?
  }

  /// An entry, and what has its name in the target.
  struct Meeting {
    let record: FileRecord
    let place: RelativePath
    /// Nil in a dry run, if the folder does not exist.
    let parent: OpenFolder?
    let found: FileStatus?

    /// Whether the file of the target is the source. A plan has the numbers of another machine.
    var isSource: Bool { !record.isPlanned && found?.identity == record.status.identity }

  }

  let target: MirrorTarget
  let digests: DigestSet
  let reader: DigestReader<Waiting>
  let cached: CachedDigests?
  let stream: DigestStream
  private var current: ContainedFolder.Place?
  /// Whether the current folder was prepared for files.
  private var isPrepared = false
  /// Whether this run made the current folder, so that it has nothing from before; nil if not looked up yet.
  private var isMade: Bool?
  /// The last folder of the walk, and its place.
  private var last: (directory: DirectoryPath, place: [UInt8])?
  /// The last folders of the other copies, by their numbers; a folder that does not exist is nil.
  private var copyFolders: [Int: (path: [UInt8], folder: OpenFolder?)] = [:]

  init(_ target: MirrorTarget, in context: WorkerContext) throws(BatchError) {
    self.target = target
    digests = try DigestSet([.sha256], concurrency: context.concurrencyLimit)
    reader = try DigestReader()
    stream = try DigestStream(.sha256)
    cached = target.cache.map { CachedDigests($0, [.sha256]) }
  }

  var options: MirroringOptions { target.options }

  package func process(
    _ item: MirrorItem, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    switch item {
    case .entry(let record): try mirror(record, mayLink: true, in: context, into: &output)
    case .again(let record, let mayLink): try mirror(record, mayLink: mayLink, in: context, into: &output)
    case .piece(let copy, let index): try copyPiece(copy, index, in: context, into: &output)
    case .verification(let file): output.append(try verify(file, in: context))
    }
  }

  package func end(in context: WorkerContext, into output: inout [MirrorRow]) throws(BatchError) {
    try settle(in: context, into: &output)
    closeFolders()
  }

  private func closeFolders() {
    (current, isPrepared, isMade) = (nil, false, nil)
    copyFolders = [:]
  }

  package func settle(
    in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    try reader.settle { (file, digest) throws(BatchError) in
      note(digest, of: file, in: context)
      output[file.row].set(digest)
    }
  }

  // MARK: Entries

  private func mirror(
    _ record: FileRecord, mayLink: Bool, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    let place = place(of: record)
    do throws(BatchError) {
      if record.status.kind == .directory {
        return try mirrorFolder(record, place, in: context, into: &output)
      }
      guard let meeting = try meet(record, place, into: &output) else { return }
      switch record.status.kind {
      case .regular:
        try mirrorFile(meeting, mayLink: mayLink, in: context, into: &output) {
          (parent, rows) throws(BatchError) in try copyFile(meeting, parent, in: context, into: &rows)
        }
      default: try mirrorNode(meeting, in: context, into: &output)
      }
    } catch {
      try fail(error, record, place, in: context, into: &output)
    }
  }

  /// Reports why an entry could not be mirrored.
  func fail(
    _ error: BatchError, _ record: FileRecord, _ place: RelativePath, in context: WorkerContext,
    into output: inout [MirrorRow]
  ) throws(BatchError) {
    guard error.code != .cancelled else { throw error }
    let isOfTarget = error.code == .unwritable
    let located = error.path == nil ? error.at(isOfTarget ? target.path(of: place) : record.path) : error
    let isGone = located.code == .vanished || located.code == .changed
    context.report(isGone ? Problem(located) : Problem(.unreadable, located))
    output.append(.failed(place))
  }

  private func place(of record: FileRecord) -> RelativePath {
    var name: [UInt8] = []
    record.appendName(to: &name)
    if let last, last.directory === record.directory { return RelativePath(folder: last.place, name: name) }
    let folder = target.operands.place(of: record.directory)
    last = (record.directory, folder)
    return RelativePath(folder: folder, name: name)
  }

  /// Opens the folder of an entry in the target, and looks at what has its name.
  ///
  /// - Returns: nil if something is in the way, which is a row.
  func meet(
    _ record: FileRecord, _ place: RelativePath, into output: inout [MirrorRow]
  ) throws(BatchError) -> Meeting? {
    let parent: OpenFolder?
    do throws(BatchError) {
      parent = try enter(place.parent)
    } catch {
      guard error.code == .invalid else { throw error }
      output.append(.obstructed(record, place, Self.inTheWay("a file or a link", target.path(of: place))))
      return nil
    }
    guard let parent else { return Meeting(record: record, place: place, parent: nil, found: nil) }
    let found = isNew(place) ? nil : try parent.look(at: place.name)
    if found?.kind == .directory {
      output.append(.obstructed(record, place, Self.inTheWay("a folder", target.path(of: place))))
      return nil
    }
    return Meeting(record: record, place: place, parent: parent, found: found)
  }

  static func inTheWay(_ what: String, _ path: PathBytes) -> BatchError {
    BatchError(
      .invalid, "not replaced: \(what) is in its place or on the way to it", path: path,
      remedy: .removeOthers)
  }

  /// - Returns: nil in a dry run, if the folder does not exist.
  func enter(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder? {
    if options.isDryRun { return try target.folder.openIfThere(path) }
    if current?.path != path { (isPrepared, isMade) = (false, nil) }
    return try target.folder.enter(path, after: &current).folder
  }

  /// Whether this run made the current folder.
  private func isNew(_ place: RelativePath) -> Bool {
    if options.isDryRun { return false }
    if let isMade { return isMade }
    let known = target.folder.hasMade(place.parent)
    isMade = known
    return known
  }

  /// Prepares the current folder for the first file that is written there.
  func prepare(_ place: RelativePath, in parent: OpenFolder) {
    guard !isPrepared else { return }
    target.stage.folders.note(parent)
    if !isNew(place) { target.folder.clear(parent, place.parent) }
    isPrepared = true
  }

  // MARK: Folders

  private func mirrorFolder(
    _ record: FileRecord, _ place: RelativePath, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    let attributes = try context.withFolder(of: record) {
      MirrorMetadata.copied(AttributeReader.attributes(of: $0))
    }
    let entry = target.metadata.entry(record.status, attributes)
    var report = MirrorReport(record, place, .upToDate)
    report.losses = target.metadata.foreignOwner(record.status)
    if place.bytes.isEmpty {
      // The target itself exists.
    } else if options.isDryRun {
      do throws(BatchError) {
        if try target.folder.openIfThere(place.bytes[...]) == nil { report.outcome = .copied }
      } catch {
        guard error.code == .invalid else { throw error }
        output.append(.obstructed(record, place, Self.inTheWay("a file or a link", target.path(of: place))))
        return
      }
    } else {
      do throws(BatchError) {
        _ = try enter(place.parent)
        guard var parent = current else { return }
        try target.folder.makeFolder(place, in: &parent)
        current = parent
        if !StandardStreams.isRoot { try openToOwner(place, in: parent.folder) }
      } catch {
        guard error.code == .invalid else { throw error }
        output.append(.obstructed(record, place, Self.inTheWay("a file or a link", target.path(of: place))))
        return
      }
    }
    output.append(.folder(report, entry))
  }

  /// Lets the owner of an existing folder create files in it, until it gets the mode of its source.
  private func openToOwner(_ place: RelativePath, in parent: OpenFolder) throws(BatchError) {
    guard let found = try parent.look(at: place.name), found.kind == .directory, found.isOwn,
      found.mode & 0o700 != 0o700, let opened = try? parent.openPlace(place.name),
      (try? parent.calls.status(of: opened.raw))?.identity == found.identity
    else { return }
    _ = parent.calls.setMode(of: opened.raw, to: found.mode & 0o7777 | 0o700, isPlace: true)
  }

  // MARK: Links, FIFOs, devices

  private func mirrorNode(
    _ meeting: Meeting, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    let (record, status) = (meeting.record, meeting.record.status)
    let isDevice = status.kind == .characterDevice || status.kind == .blockDevice
    guard !isDevice || options.makesDevices else {
      let error = BatchError(
        .special, "is \(status.kind.text), left out", path: record.path, remedy: .makeDevices)
      context.warn(Problem(.special, error, kind: status.kind))
      context.skip(.special(status.kind))
      output.append(.failed(meeting.place))
      return
    }
    var linkTarget: PathBytes?
    if status.kind == .symbolicLink {
      linkTarget = try context.withFolder(of: record) { (folder) throws(BatchError) in
        try record.linkTarget(in: folder)
      }
    }
    let entry = target.metadata.entry(status, linkTarget: linkTarget)
    var report = MirrorReport(record, meeting.place, meeting.found == nil ? .copied : .updated)
    report.losses = target.metadata.foreignOwner(status)
    if let found = meeting.found, let parent = meeting.parent {
      if meeting.isSource || isEqualNode(entry, status, found, meeting.place.name, in: parent) {
        report.outcome = .upToDate
        output.append(.settled(report))
        return
      }
      if isKept(found, against: status) {
        report.outcome = .kept
        output.append(.settled(report))
        return
      }
    }
    output.append(options.isDryRun ? .settled(report) : .node(report, entry))
  }

  private func isEqualNode(
    _ entry: ArchiveEntry, _ status: FileStatus, _ found: FileStatus, _ name: PathBytes, in parent: OpenFolder
  ) -> Bool {
    guard found.kind == status.kind,
      found.device == status.device || status.kind == .symbolicLink || status.kind == .fifo,
      target.metadata.isEqual(
        entry, from: status.owner, to: found,
        hasTime: target.times.areEqual(status.modified, found.modified, in: parent))
    else { return false }
    return status.kind != .symbolicLink || (try? LinkTarget.read(name, in: parent.raw)) == entry.linkTarget
  }

  func isKept(_ found: FileStatus, against status: FileStatus) -> Bool {
    switch options.keeping {
    case .none: false
    case .newer: found.modified > status.modified
    case .existing: true
    }
  }

  // MARK: Files

  /// - Parameter copy: copies the file, if that is needed, and adds its row.
  func mirrorFile(
    _ meeting: Meeting, mayLink: Bool, in context: WorkerContext, into output: inout [MirrorRow],
    copy: (OpenFolder, inout [MirrorRow]) throws(BatchError) -> Void
  ) throws(BatchError) {
    let (record, status) = (meeting.record, meeting.record.status)
    if let found = meeting.found, let parent = meeting.parent {
      if meeting.isSource {
        return try append(
          .settled(MirrorReport(record, meeting.place, .upToDate)), record, in: context, into: &output)
      }
      if isKept(found, against: status) {
        var report = MirrorReport(record, meeting.place, .kept)
        if options.makesDigests, !options.isDryRun {
          report.digest = try digestOfTarget(meeting.place.name, found.identity, in: parent, context)
        }
        output.append(.settled(report))
        return
      }
      if case .equal(let digest) = try compare(meeting, found, parent, in: context),
        let report = try describe(meeting, found, parent, in: context)
      {
        var row = MirrorRow.settled(report)
        guard let digest else { return try append(row, record, in: context, into: &output) }
        row.set(digest)
        output.append(row)
        return
      }
    }
    if mayLink, let (copy, identity) = try equalCopy(of: meeting, in: context) {
      let report = MirrorReport(record, meeting.place, .linked)
      guard !options.isDryRun else {
        output.append(.settled(report))
        return
      }
      return try append(
        .equal(report, record, copy: copy, identity), record, in: context, into: &output)
    }
    guard !options.isDryRun, let parent = meeting.parent else {
      output.append(.settled(MirrorReport(record, meeting.place, meeting.found == nil ? .copied : .updated)))
      return
    }
    try copy(parent, &output)
  }

  private enum Comparison {
    case different
    /// With the digest, if it was computed for the comparison.
    case equal(Digest?)
  }

  /// Compares the content of a file with that of the one in the target, by size and time or by bytes.
  private func compare(
    _ meeting: Meeting, _ found: FileStatus, _ parent: OpenFolder, in context: WorkerContext
  ) throws(BatchError) -> Comparison {
    let status = meeting.record.status
    guard found.kind == .regular, found.size == status.size else { return .different }
    guard options.comparesContent else {
      return target.times.areEqual(status.modified, found.modified, in: parent) ? .equal(nil) : .different
    }
    let outcome = try context.read(meeting.record, isCounted: false) { () throws(BatchError) in
      stream.reset()
    } consume: { (piece) throws(BatchError) in
      try stream.update(piece)
    }
    guard let outcome, outcome.isStable else {
      throw BatchError(.changed, "changed while it was compared", path: meeting.record.path)
    }
    let digest = try stream.finish()
    let other = try digestOfTarget(meeting.place.name, found.identity, in: parent, context)
    return other == digest ? .equal(digest) : .different
  }

  /// Sets the metadata of a file in the target whose content is equal.
  ///
  /// - Returns: nil if the file must be replaced: it has names that may be outside of the tree, or cannot be opened.
  private func describe(
    _ meeting: Meeting, _ found: FileStatus, _ parent: OpenFolder, in context: WorkerContext
  ) throws(BatchError) -> MirrorReport? {
    let (record, status) = (meeting.record, meeting.record.status)
    var report = MirrorReport(record, meeting.place, .upToDate)
    report.losses = target.metadata.foreignOwner(status)
    let attributes = try attributes(of: record, in: context)
    let others = Self.attributes(of: meeting.place.name, in: parent)
    let entry = target.metadata.entry(status, attributes)
    let hasTime = target.times.areEqual(status.modified, found.modified, in: parent)
    if attributes == others, target.metadata.isEqual(entry, from: status.owner, to: found, hasTime: hasTime) {
      return report
    }
    guard found.linkCount == 1 else { return nil }
    report.outcome = .described
    guard !options.isDryRun else { return report }
    guard let file = try? parent.openFile(meeting.place.name), let now = try? parent.calls.status(of: file),
      now.identity == found.identity, now.linkCount == 1, now.kind == .regular
    else { return nil }
    prepare(meeting.place, in: parent)
    let areRemoved = target.metadata.removeOthers(others, than: attributes, from: file.raw)
    report.losses.formUnion(
      target.metadata.setter(of: entry, from: status.owner).apply(to: file.raw, lists: .ofFolder))
    if !areRemoved { report.losses.insert(.attributes) }
    return report
  }

  func attributes(
    of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> [ExtendedAttribute] {
    MirrorMetadata.copied(
      try context.withFolder(of: record) { folder in
        record.withName {
          AttributeReader.attributes(of: $0, in: folder, followingLinks: record.followsLinks)
        }
      })
  }

  static func attributes(of name: PathBytes, in folder: OpenFolder) -> [ExtendedAttribute] {
    MirrorMetadata.copied(
      name.withCString { AttributeReader.attributes(of: $0, in: folder.raw, followingLinks: false) })
  }

  // MARK: Other copies

  /// Searches the other copies for a file with the same size, time, owner, mode and attributes.
  private func equalCopy(
    of meeting: Meeting, in context: WorkerContext
  ) throws(BatchError) -> (copy: Int, identity: FileIdentity)? {
    let status = meeting.record.status
    for copy in target.copies.indices {
      guard let folder = copyFolder(copy, meeting.place.parent),
        let found = try? folder.look(at: meeting.place.name), found.kind == .regular,
        found.size == status.size, target.times.areEqual(status.modified, found.modified, in: folder)
      else { continue }
      let attributes = try attributes(of: meeting.record, in: context)
      guard
        target.metadata.isEqual(
          target.metadata.entry(status, attributes), from: status.owner, to: found, hasTime: true),
        Self.attributes(of: meeting.place.name, in: folder) == attributes
      else { continue }
      return (copy, found.identity)
    }
    return nil
  }

  private func copyFolder(_ copy: Int, _ path: ArraySlice<UInt8>) -> OpenFolder? {
    if let known = copyFolders[copy], known.path == Array(path) { return known.folder }
    copyFolders[copy] = nil
    let root = target.copies[copy]
    let folder = try? target.folder.opener.folder(path, below: root, shown: root.path, isSearched: true)
    copyFolders[copy] = (Array(path), folder)
    return folder
  }
}
