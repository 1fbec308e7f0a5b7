import BatchEngine

/// Reads segments of an archive and compares members with a folder, on one lane.
package final class VerifyWorker: BatchWorker {
  package typealias Item = VerifyReader.Item
  package typealias Output = [VerifyJob.Row]
  private typealias Finding = VerifyJob.Finding

  /// Nil if the archive is not compared with a folder.
  private let comparison: LiveComparison?
  /// Created for the first segment.
  private var resources: SegmentResources?
  /// Bytes of content that were counted for the current group, damaged members included.
  private var countedOfGroup = 0

  init(_ comparison: LiveComparison?) {
    self.comparison = comparison
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    try context.checkCancellation()
    switch item.step {
    case .segment(let archive, let group, let members, let contents):
      try verify(
        group, members, of: archive, try resources(for: archive, context), contents: contents, in: context,
        into: &output)
    case .end(let archive): try verifyEnd(of: archive, try resources(for: archive, context), into: &output)
    case .stretch(let archive, let stretch): try verify(stretch, of: archive, in: context, into: &output)
    case .compare(let member):
      try add(Finding(path: member.path, damage: nil, mark: item.mark), of: member, in: context, to: &output)
    case .read(let path):
      context.finish()
      note(path, nil, to: &output)
      output.append(.finding(Finding(path: path, damage: nil, mark: item.mark)))
    case .unreadable(let path, let error):
      if let path { note(path, nil, to: &output) }
      guard error.code != .unsupported, error.code != .special else {
        context.report(Problem(.unreadable, path.map { error.at($0) } ?? error))
        return
      }
      if let path {
        context.finish()
        output.append(.finding(Finding(path: path, damage: error, mark: item.mark)))
      } else {
        output.append(.note(.damage(error.message)))
      }
    }
  }

  private func resources(
    for archive: IndexedArchive, _ context: WorkerContext
  ) throws(BatchError) -> SegmentResources {
    if let resources { return resources }
    let made = try SegmentResources(archive, by: context.reading)
    resources = made
    return made
  }

  /// Reports a member to the collector, because later hard links may lead to it.
  private func note(_ path: PathBytes, _ digest: Digest?, to output: inout Output) {
    if comparison != nil { output.append(.member(path, digest)) }
  }

  private func verify(
    _ group: MemberIndex.Group, _ members: IndexSlice, of archive: IndexedArchive,
    _ resources: SegmentResources,
    contents: [Digest]?, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    var segment = SegmentReader(archive: archive, loader: resources.loader)
    var found = [(finding: Finding, member: RecordedPath)]()
    countedOfGroup = 0
    defer { reportAltered(resources, to: &output) }
    do throws(BatchError) {
      if let contents {
        try compare(group, of: archive, resources, with: contents)
        for number in group.members {
          let member = members[number]
          count(Int(clamping: member.digest == nil ? 0 : member.size), in: context)
          found.append((Finding(path: member.path, damage: nil), RecordedPath(member, nil)))
        }
      } else {
        try segment.read(
          group, members, limits: ArchiveLimits(), ahead: (resources.ahead, Array(group.members))
        ) {
          (_, member, entry, reader) throws(BatchError) in
          context.startTime()
          defer { context.endTime(of: member.path) }
          found.append(
            (
              try finding(
                of: member, entry: entry, reader: reader, resources: resources, archive: archive, in: context),
              RecordedPath(member, entry)
            ))
        }
      }
    } catch {
      try context.checkCancellation()
      guard error.code == .malformed else { throw error }
      output.append(.note(.damage(archive.index.place(of: group) + ": " + error.message)))
      found = []
      var salvaged = 0
      try segment.salvage(group, members, digests: resources.digests) {
        (_, member, rest) throws(BatchError) in
        let damage = rest == nil ? BatchError(.malformed, "damaged", path: member.path) : nil
        salvaged += rest?.pieces.reduce(0) { $0 + $1.bytes.count } ?? 0
        found.append(
          (Finding(path: member.path, damage: damage), RecordedPath(member, rest?.entry)))
      }
      // Content that was read before the damage is already counted.
      count(max(0, salvaged - countedOfGroup), in: context)
    }
    for (number, (finding, member)) in zip(group.members, found) {
      var finding = finding
      finding.flags = members.flags(of: number).subtracting(.digest)
      finding.mark = members.marks.mark(of: number)
      try add(finding, of: member, in: context, to: &output)
    }
  }

  /// Decodes the frames of a group that was just written.
  ///
  /// - Throws: `malformed` when a frame does not decode to what was compressed.
  private func compare(
    _ group: MemberIndex.Group, of archive: IndexedArchive, _ resources: SegmentResources,
    with contents: [Digest]
  ) throws(BatchError) {
    for (number, content) in zip(group.frames, contents) {
      do throws(BatchError) {
        try archive.file.cancellation.check()
        let plain = try resources.loader.load(archive.index.frames[number])
        guard try resources.contents.digest(of: plain) == content else {
          throw BatchError(.malformed, "the content is not what was archived")
        }
      } catch {
        // An unreadable part of the disk is treated as damage.
        guard error.code == .unreadable, error.isOfDevice else { throw error }
        throw BatchError(
          .malformed, "\(error.message): \(error.systemMessage ?? "")", path: archive.file.path)
      }
    }
  }

  /// Counts a member, and compares it with the folder, if there is one.
  private func add(
    _ finding: Finding, of member: RecordedPath, in context: WorkerContext, to output: inout Output
  ) throws(BatchError) {
    note(member.path, member.digest, to: &output)
    guard let comparison, finding.mark != .superseded else {
      context.finish()
      output.append(.finding(finding))
      return
    }
    switch try comparison.compare(member, in: context) {
    case .reported: return
    case .compared(let difference):
      var finding = finding
      finding.difference = difference
      output.append(.finding(finding))
    case .separate(let aspect, let target, let content):
      output.append(.separate(finding, aspect, target: target, content: content))
    }
    context.finish()
  }

  private func count(_ bytes: Int, in context: WorkerContext) {
    countedOfGroup.addClamped(bytes)
    context.count(bytes: bytes)
  }

  private func finding(
    of member: ArchivedMember, entry: ArchiveEntry, reader: ArchiveReader,
    resources: SegmentResources,
    archive: IndexedArchive, in context: WorkerContext
  ) throws(BatchError) -> Finding {
    guard entry.kind == .file else { return Finding(path: member.path, damage: nil) }
    // A file with very large holes has no digest; its data is still decoded.
    let digest = member.digest.map { _ in
      ContentDigest(resources.digests, ahead: resources.ahead, cancellation: archive.file.cancellation)
    }
    let end = try reader.readContent(into: digest) { (size) throws(BatchError) in
      try context.checkCancellation()
      count(size, in: context)
    }
    try entry.checkSize(end: end)
    let isRight = try digest?.finish(size: entry.size) == member.digest
    return Finding(
      path: member.path,
      damage: isRight ? nil : BatchError(.malformed, "wrong SHA-256", path: member.path))
  }

  private func verify(
    _ stretch: WrittenArchive.Stretch, of archive: ArchiveFile, in context: WorkerContext,
    into output: inout Output
  ) throws(BatchError) {
    let digest = try DigestStream(stretch.digest.algorithm)
    let buffer = try ScratchBuffer(capacity: 256 << 10)
    var position = stretch.bytes.lowerBound
    while position < stretch.bytes.upperBound {
      try context.checkCancellation()
      let wanted = Int(min(UInt64(buffer.room.count), stretch.bytes.upperBound - position))
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<wanted])
      let count = try archive.read(at: position, into: room)
      if count == 0 { break }
      try digest.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
      position += UInt64(count)
    }
    if try digest.finish() != stretch.digest {
      let isAll = stretch.bytes.lowerBound == 0
      let what = isAll ? "its bytes" : "the bytes after its members"
      output.append(.note(.damage("some of \(what) differ")))
    }
  }

  /// Reports frames with changed bytes that do not affect the content.
  private func reportAltered(_ resources: SegmentResources, to output: inout Output) {
    for frame in resources.loader.takeAltered() {
      let range = frame.compressed
      let text =
        "bytes \(range.lowerBound) to \(range.upperBound): not as they were written, and no content lost"
      output.append(.note(.damage(text)))
    }
  }

  /// Checks that the blocks that end a tar exist.
  private func verifyEnd(
    of archive: IndexedArchive, _ resources: SegmentResources, into output: inout Output
  ) throws(BatchError) {
    guard let last = archive.index.frames.last else { return }
    defer { reportAltered(resources, to: &output) }
    do throws(BatchError) {
      let zeros = try resources.loader.load(last).reversed().prefix { $0 == 0 }.count
      if zeros < 1024 { output.append(.note(.damage("the blocks that end the archive are missing"))) }
    } catch {
      guard error.code == .malformed else { throw error }
      output.append(.note(.damage("the end of the archive: " + error.message)))
    }
  }
}
