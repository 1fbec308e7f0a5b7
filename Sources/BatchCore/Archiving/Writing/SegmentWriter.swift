import BatchEngine

/// The tools of a lane to make segments: headers, a codec, a digest, and a buffer for the members.
final class SegmentWriter {
  private let codec: (any CodecContext)?
  private let headers: TarHeaders
  private let digest: DigestStream
  private let batch: DigestBatch
  private let buffers: FrameBuffers
  private let isRemembered: Bool
  private let blockSeed: UInt64?
  /// The uncompressed bytes of the segment.
  private(set) var plain: [UInt8] = []
  private(set) var members: [ArchivedMember] = []
  /// ``ArchivedMember/number`` of the next members.
  var number: UInt64 = 0
  /// The start of the content of the member that is being added.
  private var contentStart = 0
  /// Members that have no digest yet, and the ranges of their contents.
  private var waiting: [(member: Int, content: Range<Int>)] = []
  private var waitingBytes = 0
  /// Files up to this size are read directly into the segment. Larger ones are read in pieces, between which a run can be
  /// stopped.
  private static let largestPiece: Int64 = 256 << 10

  init(
    _ options: ArchiveOptions, _ buffers: FrameBuffers,
    checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) {
    codec = try options.format.compression?.makeContext(level: options.level, checking: check)
    self.buffers = buffers
    isRemembered = options.isRemembered
    blockSeed = options.blockSeed
    headers = try TarHeaders()
    digest = try DigestStream(.sha256)
    batch = try DigestBatch()
  }

  /// Drops the previous segment.
  ///
  /// - Parameter byteCount: the approximate size of the segment.
  func begin(expecting byteCount: Int) {
    plain.removeAll(keepingCapacity: true)
    if plain.capacity < byteCount {
      // Releases the old buffer first, so that both never exist together.
      plain = []
      plain = buffers.take(room: byteCount)
    }
    members.removeAll(keepingCapacity: true)
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
    contentStart = 0
  }

  /// The frame of the segment; nil if the segment is empty.
  ///
  /// - Parameter isUnneeded: whether a member is left out, although it was added; called once for each.
  func frame(
    without isUnneeded: ((ArchivedMember) throws(BatchError) -> Bool)? = nil
  ) throws(BatchError) -> ArchiveFrame? {
    guard !plain.isEmpty else { return nil }
    try addDigests()
    if let isUnneeded { try removeMembers(where: isUnneeded) }
    guard !plain.isEmpty else { return nil }
    guard let codec else {
      let content = try isRemembered ? ArchiveFrame.content(of: plain) : nil
      let bytes = takePlain()
      return ArchiveFrame(bytes: bytes, plainSize: UInt64(bytes.count), content: content)
    }
    return ArchiveFrame(
      bytes: try codec.compressed(plain, in: buffers.take()), plainSize: UInt64(plain.count),
      content: try isRemembered ? ArchiveFrame.content(of: plain) : nil)
  }

  /// The SHA-256 of content that is in no segment.
  func digest(of content: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: content) { (raw) throws(BatchError) in try digest.digest(of: raw) }
  }

  /// Returns the uncompressed bytes and clears the segment.
  func takePlain() -> [UInt8] {
    defer { plain = [] }
    return plain
  }

  // MARK: Members

  /// Adds an entry without content, or the header of a file whose content is in other frames.
  ///
  /// - Throws: `invalid` for an entry that the format cannot store; the segment is unchanged.
  func add(_ entry: ArchiveEntry, identity: FileIdentity? = nil) throws(BatchError) {
    let start = plain.count
    try addHeader(entry)
    var member = ArchivedMember(entry, offset: start, header: headerCheck(from: start), identity: identity)
    member.attributes = try entry.attributes.digest()
    append(member)
  }

  /// Adds a file.
  ///
  /// The header is written first, from the status of the walk, and again if the content differs: so the header always matches
  /// the content in the archive.
  ///
  /// - Parameters:
  ///   - bare: the entry without the values that need the open file.
  ///   - expected: the status from which the entry was made.
  ///   - read: gets a buffer for the content, passes its pieces on, and returns the outcome; nil when the content must not be used. A piece
  ///     that was read into the buffer is at its beginning. It passes the entry on first, each time that it starts.
  ///   - describe: updates an entry from another status.
  /// - Returns: whether the file is in the archive.
  func add(
    _ bare: ArchiveEntry, of expected: FileStatus,
    reading read: (
      _ room: UnsafeMutableRawBufferPointer?, _ begin: (ArchiveEntry) -> Void,
      _ consume: (UnsafeRawBufferPointer) -> Void
    ) throws(BatchError) -> ReadOutcome?,
    describing describe: (FileStatus, inout ArchiveEntry) -> Void
  ) throws(BatchError) -> Bool {
    let start = plain.count
    var isAdded = false
    defer { if !isAdded { plain.removeSubrange(min(start, plain.count)...) } }
    try addHeader(bare)
    guard let (outcome, entry) = try addContent(of: bare, expected, reading: read) else { return false }
    // Files of /proc report the size 0, those of /sys a page; and a file may change while it is read.
    let size = UInt64(plain.count - contentStart)
    var final = entry
    if size != entry.size || !entry.attributes.isEmpty || !outcome.status.hasSameContent(as: expected) {
      describe(outcome.status, &final)
      final.size = size
      var header: [UInt8] = []
      try headers.append(final, to: &header)
      plain.replaceSubrange(start..<contentStart, with: header)
      contentStart = start + header.count
    }
    var member = ArchivedMember(
      final, offset: start, header: headerCheck(from: start), identity: expected.identity)
    member.attributes = try final.attributes.digest()
    member.flags = MemberFlags(outcome)
    member.isSettled = outcome.isSettled
    waiting.append((members.count, contentStart..<plain.count))
    waitingBytes += plain.count - contentStart
    append(member)
    TarBlock.pad(&plain, from: contentStart)
    isAdded = true
    if waitingBytes >= DigestBatch.size { try addDigests() }
    return true
  }

  /// Reads the content of a file to the end of the segment.
  ///
  /// - Returns: the entry that belongs to it; nil if it must not be used.
  private func addContent(
    of bare: ArchiveEntry, _ expected: FileStatus,
    reading read: (
      UnsafeMutableRawBufferPointer?, (ArchiveEntry) -> Void, (UnsafeRawBufferPointer) -> Void
    ) throws(BatchError) -> ReadOutcome?
  ) throws(BatchError) -> (ReadOutcome, ArchiveEntry)? {
    var entry = bare
    guard (0..<Self.largestPiece).contains(expected.size) else {
      let outcome = try read(nil) {
        entry = $0
        plain.removeSubrange(contentStart...)
      } _: {
        plain.append(contentsOf: $0)
      }
      return outcome.map { ($0, entry) }
    }
    // One byte more, to detect the end of the file.
    let capacity = Int(expected.size) + 1
    var outcome: ReadOutcome?
    var pieces: [UInt8] = []
    try plain.append(upTo: capacity) { (base) throws(BatchError) in
      var count = 0
      outcome = try read(UnsafeMutableRawBufferPointer(start: base, count: capacity)) {
        entry = $0
        pieces.removeAll()
        count = 0
      } _: { piece in
        if piece.baseAddress == UnsafeRawPointer(base) { count = piece.count } else { pieces += piece }
      }
      return count
    }
    plain += pieces
    return outcome.map { ($0, entry) }
  }

  /// Sets the digests of the members that have none yet.
  private func addDigests() throws(BatchError) {
    try withBytes(of: plain) { (raw) throws(BatchError) in
      for (_, content) in waiting { batch.add(UnsafeRawBufferPointer(rebasing: raw[content])) }
      try batch.finish { (index, digest) in members[waiting[index].member].digest = digest }
      guard let blockSeed else { return }
      for (member, content) in waiting {
        guard let blocks = BlockHashes(seed: blockSeed, fileSize: UInt64(content.count)) else { continue }
        blocks.update(UnsafeRawBufferPointer(rebasing: raw[content]))
        members[member].blocks = blocks.finish()
      }
    }
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
  }

  /// Adds a sparse file; its digest includes the zeros of its holes.
  ///
  /// - Parameters:
  ///   - map: the data ranges of the file.
  ///   - read: appends that data to the segment, and returns its flags and whether the file is settled; nil when the data must
  ///     not be used.
  func addSparse(
    _ entry: ArchiveEntry, map: [Range<UInt64>], of expected: FileStatus,
    reading read: () throws(BatchError) -> (MemberFlags, isSettled: Bool)?
  ) throws(BatchError) -> Bool {
    let start = plain.count
    var isAdded = false
    defer { if !isAdded { plain.removeSubrange(min(start, plain.count)...) } }
    var entry = entry
    entry.dataMap = map
    try addHeader(entry)
    guard let (flags, isSettled) = try read() else { return false }
    let blocks = blockSeed.flatMap { BlockHashes(seed: $0, fileSize: entry.size) }
    let sparse = SparseDigest(digest, map: map, size: entry.size, blocks: blocks)
    try withBytes(of: plain) { (raw) throws(BatchError) in
      try sparse.update(UnsafeRawBufferPointer(rebasing: raw[contentStart...]))
    }
    var member = ArchivedMember(
      entry, offset: start, header: headerCheck(from: start), digest: try sparse.finish(),
      identity: expected.identity)
    member.attributes = try entry.attributes.digest()
    member.blocks = blocks?.finish()
    member.flags = flags
    member.isSettled = isSettled
    append(member)
    TarBlock.pad(&plain, from: contentStart)
    isAdded = true
    return true
  }

  private func removeMembers(
    where isUnneeded: (ArchivedMember) throws(BatchError) -> Bool
  ) throws(BatchError) {
    var kept = [ArchivedMember]()
    var size = 0
    for (index, member) in members.enumerated() {
      guard try !isUnneeded(member) else { continue }
      let start = Int(member.offset)
      let end = index + 1 < members.count ? Int(members[index + 1].offset) : plain.count
      plain.withUnsafeMutableBytes { bytes in
        guard size < start, let base = bytes.baseAddress else { return }
        (base + size).copyMemory(from: base + start, byteCount: end - start)
      }
      var moved = member
      moved.offset = UInt64(size)
      kept.append(moved)
      size += end - start
    }
    plain.removeSubrange(size...)
    members = kept
  }

  private func append(_ member: ArchivedMember) {
    var member = member
    member.number = number
    members.append(member)
  }

  private func addHeader(_ entry: ArchiveEntry) throws(BatchError) {
    let start = plain.count
    do throws(BatchError) {
      try headers.append(entry, to: &plain)
    } catch {
      plain.removeSubrange(min(start, plain.count)...)
      throw error
    }
    contentStart = plain.count
  }

  /// The checksum of the headers between an offset and the content.
  private func headerCheck(from start: Int) -> HeaderChecksum {
    plain.withUnsafeBytes { HeaderChecksum(of: UnsafeRawBufferPointer(rebasing: $0[start..<contentStart])) }
  }

  // MARK: Content

  /// Appends `count` bytes: those that `fill` writes and counts, then zeros.
  func append(
    _ count: Int, filling fill: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) {
    try plain.append(upTo: count) { (base) throws(BatchError) in
      let room = UnsafeMutableRawBufferPointer(start: base, count: count)
      let filled = try fill(room)
      UnsafeMutableRawBufferPointer(rebasing: room[filled...]).initializeMemory(as: UInt8.self, repeating: 0)
      return count
    }
  }

  /// Fills the last block of a member whose content began with the segment.
  func pad() {
    TarBlock.pad(&plain, from: 0)
  }
}

extension CodecContext {
  /// Compresses these bytes to one complete frame.
  ///
  /// - Parameter buffer: an empty buffer whose capacity is used.
  func compressed(_ plain: [UInt8], in buffer: consuming [UInt8] = []) throws(BatchError) -> [UInt8] {
    var bytes = buffer
    try withBytes(of: plain) { (raw) throws(BatchError) in try compress(wholeFile: raw, into: &bytes) }
    return bytes
  }
}
