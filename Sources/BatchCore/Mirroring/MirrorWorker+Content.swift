import BatchEngine
import BatchOutputs

/// The contents of files: digests, copies and verification.
extension MirrorWorker {
  /// From this size in bytes on, contents are copied inside the kernel: below it, reading and writing need fewer calls.
  private static let kernelSize: Int64 = 256 << 10
  private static let bufferSize = 1 << 20

  /// An output whose content is being written.
  private struct Writing {
    let file: AtomicFile
    let setter: EntryMetadata
    let status: FileStatus
  }

  // MARK: Digests

  /// Adds the row of a file, with its digest if that is needed: from the cache, or by reading the file.
  func append(
    _ row: MirrorRow, _ record: FileRecord, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    guard options.needsDigests, !options.isDryRun else {
      output.append(row)
      return
    }
    let known = try known(of: record, in: context)
    if let cached, let known, known.isCertain, let digest = known.digests.first {
      cached.cache.countKnown()
      var row = row
      row.set(digest)
      output.append(row)
      return
    }
    let content = try reader.read(
      record, for: digests, settling: cached?.cache.settling, isCounted: false, in: context
    ) { () throws(BatchError) in try settle(in: context, into: &output) }
    guard let content else {
      output.append(.failed(target.operands.place(of: record)))
      return
    }
    output.append(row)
    try finish(content, record, known, in: context, into: &output)
  }

  /// What the cache has about a file.
  ///
  /// A plan has the status of an earlier time, perhaps of another machine, so the file is looked at again. If it is not as it was
  /// planned, nothing is known: it must be read, which reports that.
  private func known(
    of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> CachedDigests.Known? {
    guard let cached else { return nil }
    guard record.isPlanned else { return cached.known(of: record) }
    let now = try? context.withFolder(of: record) { (folder) throws(BatchError) in
      var name: [UInt8] = []
      record.appendName(to: &name)
      return try context.calls.status(
        of: PathBytes(name), in: folder, followingLinks: record.followsLinks)
    }
    guard let now, now.isContent(of: record) else { return nil }
    return cached.known(of: record.with(now))
  }

  /// Sets the digest of the last row, now or when the files that wait are hashed together.
  private func finish(
    _ content: DigestReader<Waiting>.Content, _ record: FileRecord, _ known: CachedDigests.Known?,
    in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    let file = Waiting(row: output.count - 1, record: record, outcome: content.outcome, known: known)
    if let digest = content.digests?.first {
      note(digest, of: file, in: context)
      output[file.row].set(digest)
    } else {
      reader.wait(content, file)
    }
  }

  /// Stores a digest in the cache, unless it contradicts the cached one.
  func note(_ digest: Digest, of file: Waiting, in context: WorkerContext) {
    guard let cached, file.outcome.isStable else { return }
    let status = file.outcome.status
    if let known = file.known, known.digests.first != digest, status.isContent(of: file.record) {
      cached.cache.countRotten()
      context.warn(
        Problem(
          .changed,
          BatchError(
            .changed, "ROT: the content changed since it was last read, but size and time did not",
            path: file.record.path)))
      return
    }
    guard file.outcome.isSettled, let table = cached.tables(of: file.record.with(status))?.first
    else { return }
    cached.cache.add(table, status, digest)
  }

  /// The digest of a file in the target, read from its device if files are verified.
  ///
  /// - Returns: nil if it is no longer the same file, or cannot be read.
  func digestOfTarget(
    _ name: PathBytes, _ identity: FileIdentity?, in parent: OpenFolder, _ context: WorkerContext
  ) throws(BatchError) -> Digest? {
    guard let file = try? parent.openFile(name), let status = try? parent.calls.status(of: file),
      status.kind == .regular, identity == nil || status.identity == identity
    else { return nil }
    if options.verifies {
      _ = parent.calls.syncContent(of: file.raw)
      parent.calls.dropCache(of: file.raw)
    }
    let buffer = try ScratchBuffer(capacity: Self.bufferSize)
    stream.reset()
    var position: UInt64 = 0
    while true {
      try context.checkCancellation()
      guard let count = try? parent.calls.fill(buffer.room, from: file.raw, at: position) else { return nil }
      if count == 0 { return try stream.finish() }
      try stream.update(UnsafeRawBufferPointer(rebasing: buffer.room[..<count]))
      context.count(bytes: count)
      position += UInt64(count)
    }
  }

  /// Reads a file of the target back, and compares it with what was read from the source.
  func verify(_ file: MirroredFile, in context: WorkerContext) throws(BatchError) -> MirrorRow {
    let (place, digest) = (file.place, file.digest)
    let folder = try? target.folder.open(place.parent, creating: false)
    let found = try folder.flatMap { (folder) throws(BatchError) in
      try digestOfTarget(place.name, nil, in: folder, context)
    }
    if found == digest { return .verified }
    return .different(
      BatchError(
        .malformed,
        found == nil
          ? "cannot be read back from the target" : "has other bytes in the target than in the source",
        path: target.path(of: place)))
  }

  // MARK: Copies

  /// Copies a file under a temporary name or none, and adds its row.
  func copyFile(
    _ meeting: Meeting, _ parent: OpenFolder, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    prepare(meeting.place, in: parent)
    try target.stage.reserve()
    do throws(BatchError) {
      if let row = try copyInKernel(meeting, parent, in: context) {
        output.append(row)
      } else if !(try copyByReading(meeting, parent, in: context, into: &output)) {
        target.stage.release()
        output.append(.failed(meeting.place))
      }
    } catch {
      target.stage.release()
      throw error
    }
  }

  private func begin(
    _ meeting: Meeting, _ parent: OpenFolder, _ status: FileStatus, _ attributes: [ExtendedAttribute]
  ) throws(BatchError) -> Writing {
    let setter = target.metadata.setter(
      of: target.metadata.entry(status, MirrorMetadata.copied(attributes)), from: status.owner)
    let file = try AtomicFile(
      at: target.path(of: meeting.place), in: parent, replacing: meeting.found != nil, anything: true,
      unnamedWith: meeting.found == nil ? setter.permissions : nil, area: target.folder.area)
    return Writing(file: file, setter: setter, status: status)
  }

  private func end(
    _ writing: Writing, _ meeting: Meeting, _ parent: OpenFolder
  ) throws(BatchError) -> MirrorRow {
    var report = MirrorReport(
      meeting.record, meeting.place, meeting.found == nil ? .copied : .updated, status: writing.status)
    report.losses = try writing.file.withFile { file in
      writing.setter.apply(to: file.raw, having: file.given, lists: .ofFile(in: file.folder))
    }
    report.losses.formUnion(target.metadata.foreignOwner(writing.status))
    return .staged(report, target.stage.add(writing.file, in: parent))
  }

  /// - Returns: nil if the content must be read, or cannot be copied like this.
  private func copyInKernel(
    _ meeting: Meeting, _ parent: OpenFolder, in context: WorkerContext
  ) throws(BatchError) -> MirrorRow? {
    let (record, device) = (meeting.record, parent.identity.device)
    let source = record.status.identity.device
    let copies =
      record.status.size >= Self.kernelSize && (record.isPlanned || target.mayCopy(source, to: device))
    let clones = record.isPlanned ? copies : target.mayClone(source, to: device)
    guard !options.needsDigests, meeting.record.status.size > 0, clones || copies else { return nil }
    return try context.withFile(meeting.record) { (file, before) throws(BatchError) in
      guard before.isContent(of: record) else { return nil }
      let writing = try begin(meeting, parent, before, AttributeReader.attributes(of: file))
      let isCopied = try writing.file.withFile { (output) throws(BatchError) in
        try copy(file, before, to: output.raw, parent, clones: clones, copies: copies, in: context)
      }
      guard isCopied, try context.status(of: file).hasSameContent(as: before) else {
        writing.file.discard()
        return nil
      }
      context.count(bytes: Int(clamping: before.size))
      return try end(writing, meeting, parent)
    }
  }

  /// - Returns: whether the content was copied.
  private func copy(
    _ file: Int32, _ before: FileStatus, to output: Int32, _ parent: OpenFolder, clones: Bool, copies: Bool,
    in context: WorkerContext
  ) throws(BatchError) -> Bool {
    let (source, device) = (before.identity.device, parent.identity.device)
    let calls = parent.calls
    if clones, target.mayClone(source, to: device) {
      let isCloned = calls.clone(file, to: output) == 0
      target.note(clones: isCloned, from: source, to: device)
      if isCloned { return true }
    }
    guard copies, target.mayCopy(source, to: device) else { return false }
    let ranges = RangeCopy(calls: calls) { () throws(BatchError) in try context.checkCancellation() }
    let hasHoles = before.unallocated > 0
    guard
      try ranges.copy(
        0..<UInt64(clamping: before.size), of: file, to: output, hasHoles: hasHoles,
        unsupported: { target.noteNoCopies(from: source, to: device) })
    else { return false }
    return !hasHoles || calls.resize(output, to: Int(before.size)) == 0
  }

  /// Reads the content, computes its digest if that is needed, and writes it in the same pass.
  ///
  /// - Returns: false if the content must not be used, which was reported.
  private func copyByReading(
    _ meeting: Meeting, _ parent: OpenFolder, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) -> Bool {
    var writing: Writing?
    var isSparse = false
    // With a digest the pieces come before the file is known to be unchanged, without it too.
    let opened = { (file: borrowing Descriptor, status: FileStatus) throws(BatchError) -> Void in
      writing?.file.discard()
      writing = try self.begin(meeting, parent, status, AttributeReader.attributes(of: file.raw))
      isSparse = status.unallocated > 0
    }
    let write = { (piece: UnsafeRawBufferPointer) throws(BatchError) -> Void in
      if isSparse { try writing?.file.writeSparse(piece) } else { try writing?.file.write(piece) }
    }
    var content: DigestReader<Waiting>.Content?
    let outcome: ReadOutcome?
    if options.needsDigests {
      content = try reader.read(
        meeting.record, for: digests, settling: cached?.cache.settling, isCounted: false, in: context,
        opened: opened, copy: write
      ) { () throws(BatchError) in try settle(in: context, into: &output) }
      outcome = content?.outcome
    } else {
      outcome = try context.read(meeting.record, isCounted: false, opened: opened, consume: write)
    }
    guard outcome != nil, let writing else {
      writing?.file.discard()
      return false
    }
    if isSparse { try writing.file.finishSparse(size: writing.status.size) }
    output.append(try end(writing, meeting, parent))
    if let content { try finish(content, meeting.record, nil, in: context, into: &output) }
    return true
  }

  // MARK: Large files

  /// Copies a range of a large file, unless it is up to date.
  func copyPiece(
    _ copy: LargeCopy, _ index: Int, in context: WorkerContext, into output: inout [MirrorRow]
  ) throws(BatchError) {
    do throws(BatchError) {
      let state = try copy.opened { () throws(BatchError) in try open(copy, in: context) }
      if case .open(_, let large) = state, !copy.hasFailed {
        try copyRange(copy.range(index), of: copy, large, in: context)
      }
    } catch {
      guard error.code != .cancelled else { throw error }
      copy.fail()
    }
    if copy.finishPiece() { try finish(copy, in: context) }
    output.append(index == copy.count - 1 ? .large(copy) : .part)
  }

  /// Decides about a large file, and opens its output.
  private func open(_ copy: LargeCopy, in context: WorkerContext) throws(BatchError) -> LargeCopy.State {
    var rows: [MirrorRow] = []
    var opened: LargeCopy.State?
    do throws(BatchError) {
      if let meeting = try meet(copy.record, copy.place, into: &rows) {
        try mirrorFile(meeting, mayLink: true, in: context, into: &rows) {
          (parent, _) throws(BatchError) in opened = try open(copy, meeting, parent, in: context)
        }
      }
    } catch {
      rows = []
      try fail(error, copy.record, copy.place, in: context, into: &rows)
    }
    return opened ?? .ended(rows.first ?? .failed(copy.place))
  }

  private func open(
    _ copy: LargeCopy, _ meeting: Meeting, _ parent: OpenFolder, in context: WorkerContext
  ) throws(BatchError) -> LargeCopy.State {
    prepare(meeting.place, in: parent)
    try target.stage.reserve(sparing: context.concurrency)
    do throws(BatchError) {
      return try context.withFile(copy.record) { (file, before) throws(BatchError) in
        guard before.isContent(of: copy.record) else {
          throw BatchError(.changed, "changed before it was copied")
        }
        let attributes = AttributeReader.attributes(of: file)
        let writing = try begin(meeting, parent, before, attributes)
        let raw = try writing.file.openForReading(syncing: false)
        let output = LargeCopy.Output(
          descriptor: LargeCopy.HeldDescriptor(raw), folder: parent, before: before, found: meeting.found,
          attributes: attributes)
        let (source, device) = (before.identity.device, parent.identity.device)
        if target.mayClone(source, to: device) {
          let isCloned = parent.calls.clone(file, to: raw) == 0
          target.note(clones: isCloned, from: source, to: device)
          if isCloned {
            context.count(bytes: Int(clamping: before.size))
            return .ended(try end(writing, meeting, parent))
          }
        }
        return .open(writing.file, output)
      }
    } catch {
      target.stage.release()
      throw error
    }
  }

  private func copyRange(
    _ range: Range<UInt64>, of copy: LargeCopy, _ large: LargeCopy.Output, in context: WorkerContext
  ) throws(BatchError) {
    try context.withFile(copy.record) { (file, status) throws(BatchError) in
      let (source, device) = (large.before.identity.device, large.folder.identity.device)
      var ranges = RangeCopy(calls: context.calls) { () throws(BatchError) in try context.checkCancellation()
      }
      ranges.usesKernel = target.mayCopy(source, to: device)
      guard status.hasSameContent(as: large.before),
        try ranges.copy(
          range, of: file, to: large.descriptor.raw, hasHoles: large.before.unallocated > 0,
          unsupported: { target.noteNoCopies(from: source, to: device) })
      else { return copy.fail() }
      context.count(bytes: range.count)
    }
  }

  /// Stages a large file after its last range; copies it on this lane if a range could not be copied.
  private func finish(_ copy: LargeCopy, in context: WorkerContext) throws(BatchError) {
    guard case .open(let file, let large) = copy.current else { return }
    var rows: [MirrorRow] = []
    let meeting = Meeting(record: copy.record, place: copy.place, parent: large.folder, found: large.found)
    do throws(BatchError) {
      var isWhole = false
      if !copy.hasFailed {
        isWhole = try context.withFile(copy.record) { (_, now) in now.hasSameContent(as: large.before) }
      }
      if isWhole {
        try file.withFile { (output) throws(BatchError) in
          try output.setSize(UInt64(clamping: large.before.size))
        }
        let setter = target.metadata.setter(
          of: target.metadata.entry(large.before, MirrorMetadata.copied(large.attributes)),
          from: large.before.owner)
        rows.append(
          try end(Writing(file: file, setter: setter, status: large.before), meeting, large.folder))
      } else {
        file.discard()
        if !(try copyByReading(meeting, large.folder, in: context, into: &rows)) {
          target.stage.release()
        }
      }
    } catch {
      file.discard()
      target.stage.release()
      rows = []
      try fail(error, copy.record, copy.place, in: context, into: &rows)
    }
    copy.end(rows.first ?? .failed(copy.place))
  }
}

extension FileStatus {
  /// Whether the content is the one that the walk saw, or a plan, which has the device numbers of another machine.
  fileprivate func isContent(of record: FileRecord) -> Bool {
    record.isPlanned ? hasSameContentElsewhere(as: record.status) : hasSameContent(as: record.status)
  }
}
