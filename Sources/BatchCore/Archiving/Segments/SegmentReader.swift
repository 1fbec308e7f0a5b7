import BatchEngine

/// A member that was found in a damaged frame.
struct SalvagedMember {
  let entry: ArchiveEntry
  /// The content, whose digest is correct; gaps between its pieces are holes.
  let pieces: [(offset: UInt64, bytes: [UInt8])]
}

/// Reads the members of a group of frames; of a damaged group, the readable members.
struct SegmentReader {
  let archive: IndexedArchive
  let loader: FrameLoader
  /// How the last group differs from the index, if the whole group could be decoded.
  private(set) var contradiction: BatchError?

  /// Visits the members of a group until it finds damage.
  ///
  /// - Parameters:
  ///   - members: the members of the group.
  ///   - ahead: computes in advance the digests of the members with these numbers, which `visit` will request.
  ///   - visit: called with each member, and a reader positioned before its content.
  /// - Throws: `malformed` when a frame is damaged or differs from the index; the error of `visit`.
  mutating func read(
    _ group: MemberIndex.Group, _ members: IndexSlice, limits: ArchiveLimits,
    ahead: (digests: DigestsAhead, members: [Int])? = nil,
    visit: (Int, ArchivedMember, ArchiveEntry, ArchiveReader) throws(BatchError) -> Void
  ) throws(BatchError) {
    contradiction = nil
    defer { ahead?.digests.end() }
    do throws(BatchError) {
      try readAll(of: group, members, limits: limits, ahead: ahead, visit: visit)
    } catch {
      // An unreadable part of the disk is treated as damage and does not end the run.
      guard error.code == .unreadable, error.isOfDevice else { throw error }
      throw BatchError(.malformed, "\(error.message): \(error.systemMessage ?? "")", path: archive.file.path)
    }
  }

  private mutating func readAll(
    of group: MemberIndex.Group, _ members: IndexSlice, limits: ArchiveLimits,
    ahead: (digests: DigestsAhead, members: [Int])?,
    visit: (Int, ArchivedMember, ArchiveEntry, ArchiveReader) throws(BatchError) -> Void
  ) throws(BatchError) {
    let content = SegmentContent(loader, archive.index, frames: group.frames) { (number, frame) in
      ahead?.digests.begin(frame, number, members, members: ahead?.members ?? [])
    }
    let reader = try ArchiveReader(
      content, name: archive.file.path, requiresEnd: false,
      checksHeaders: archive.index.checks != nil, limits: limits, by: loader.right)
    for number in group.members {
      try archive.file.cancellation.check()
      let member = members[number]
      let start = archive.index.start(of: member, in: group)
      guard case .entry(let entry)? = try reader.next(), member.agrees(with: entry),
        reader.headerStart == start
      else { throw contradicted("the archive is not what its index says") }
      guard content.hasOwnHeader(at: start) else {
        throw contradicted("headers that belong to no single member")
      }
      if let header = member.header, header != reader.headerCheck {
        throw contradicted("the headers of a member are not those that its index describes")
      }
      try visit(number, member, entry, reader)
    }
    guard try reader.next() == nil else {
      throw contradicted("the archive has members that its index does not know")
    }
    try checkEnd(of: group, content, after: reader.boundary)
  }

  /// Stock readers stop at two blocks of zeros, and interpret bytes before a header as a part of it. So only the end of the
  /// archive may follow the members of a group.
  private mutating func checkEnd(
    of group: MemberIndex.Group, _ content: SegmentContent, after end: UInt64
  ) throws(BatchError) {
    let frames = archive.index.frames
    let size =
      frames[group.frames.upperBound - 1].plain.upperBound - frames[group.frames.lowerBound].plain.lowerBound
    guard group.frames.upperBound == frames.count else {
      if end == size { return }
      throw contradicted("bytes after its members that belong to none: other readers end or go on here")
    }
    guard end <= size, size - end >= 2 * UInt64(TarBlock.size) else {
      throw contradicted("the blocks that end the archive are missing")
    }
    guard try content.isZero(from: end) else {
      throw contradicted("its members are followed by something other than the blocks that end the archive")
    }
  }

  private mutating func contradicted(_ text: String) -> BatchError {
    let error = BatchError(.malformed, text)
    contradiction = error
    return error
  }

  /// Tries the members of a damaged frame one by one; headers and content are used only if their checksums match.
  ///
  /// - Parameter visit: called with each member and its recovered content; nil if unavailable.
  func salvage(
    _ group: MemberIndex.Group, _ members: IndexSlice, digests: DigestStream,
    visit: (Int, ArchivedMember, SalvagedMember?) throws(BatchError) -> Void
  ) throws(BatchError) {
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    if holdsAllInOneFrame(group, members) {
      do throws(BatchError) {
        bytes = try loader.salvage(archive.index.frames[group.frames.lowerBound])
      } catch {
        // A chunk of an encrypted file that fails its check yields no content.
        let isLost = archive.file.isEncrypted && error.code == .malformed
        guard isLost || (error.code == .unreadable && error.isOfDevice) else { throw error }
      }
    }
    for number in group.members {
      let member = members[number]
      let place = archive.index.place(of: number, in: group, members)
      guard place.upperBound <= UInt64(bytes.count) || isWithin(member, place, bytes.count) else {
        try visit(number, member, nil)
        continue
      }
      let end = min(place.upperBound, UInt64(bytes.count))
      let part = UnsafeRawBufferPointer(rebasing: bytes[Int(place.lowerBound)..<Int(end)])
      try visit(number, member, content(of: member, in: part, digests))
    }
  }

  /// Whether all members are in the first frame: the end blocks of the archive may follow.
  private func holdsAllInOneFrame(_ group: MemberIndex.Group, _ members: IndexSlice) -> Bool {
    guard group.frames.count > 1 else { return true }
    guard group.frames.count == 2, let last = group.members.last else { return false }
    let place = archive.index.place(of: last, in: group, members)
    let (end, isHuge) = place.lowerBound.addingReportingOverflow(members[last].size)
    return !isHuge && end < archive.index.frames[group.frames.lowerBound].plainSize
  }

  /// Whether a member's header and content may be available although the padding after it is not.
  private func isWithin(_ member: ArchivedMember, _ place: Range<UInt64>, _ count: Int) -> Bool {
    let (end, isHuge) = place.lowerBound.addingReportingOverflow(member.size)
    return !isHuge && end < UInt64(count)
  }

  private func content(
    of member: ArchivedMember, in bytes: UnsafeRawBufferPointer, _ digests: DigestStream
  ) -> SalvagedMember? {
    guard let header = member.header, header.holds(for: bytes) else { return nil }
    do throws(BatchError) {
      let reader = try ArchiveReader(
        MemoryContent(bytes), name: archive.file.path, requiresEnd: false, by: loader.right)
      guard case .entry(let entry)? = try reader.next(), member.agrees(with: entry) else { return nil }
      guard entry.kind == .file else { return SalvagedMember(entry: entry, pieces: []) }
      var pieces = [(offset: UInt64, bytes: [UInt8])]()
      let digest = ContentDigest(digests, cancellation: archive.file.cancellation)
      try reader.readContent { (piece, offset) throws(BatchError) in
        try digest.add(piece, at: offset)
        pieces.append((offset, Array(piece)))
      }
      guard let recorded = member.digest, try digest.finish(size: entry.size) == recorded else { return nil }
      return SalvagedMember(entry: entry, pieces: pieces)
    } catch {
      return nil
    }
  }
}

/// What a lane needs to read segments, kept from one segment to the next.
final class SegmentResources {
  private(set) var loader: FrameLoader
  let digests: DigestStream
  let ahead: DigestsAhead
  /// Digests of whole frames of an archive that was just written.
  let contents: DigestStream

  init(_ archive: IndexedArchive, by right: ReadingRight) throws(BatchError) {
    loader = try FrameLoader(archive.file, archive.format, by: right)
    digests = try DigestStream(.sha256)
    ahead = try DigestsAhead()
    contents = try DigestStream(.xxh128)
  }

  /// Reads another archive from now on.
  func open(_ archive: IndexedArchive, by right: ReadingRight) throws(BatchError) {
    loader = try FrameLoader(archive.file, archive.format, after: loader, by: right)
  }
}
