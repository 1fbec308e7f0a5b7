import BatchEngine

/// What a lane needs to make segments: headers, a codec, a digest, and room for the members.
final class SegmentWriter {
  private let codec: (any CodecContext)?
  private let headers: TarHeaders
  private let digest: DigestStream
  private let batch: DigestBatch
  private let buffers: FrameBuffers
  private let isRemembered: Bool
  /// The plain bytes of the segment.
  private(set) var plain: [UInt8] = []
  private(set) var members: [ArchivedMember] = []
  /// Where the content of the member that is being added begins.
  private var contentStart = 0
  /// Members that have no digest yet, and where their contents lie.
  private var waiting: [(member: Int, content: Range<Int>)] = []
  private var waitingBytes = 0
  /// Files up to this size are read to where their content belongs. Larger ones come in pieces, between which a run can be
  /// stopped, and are reported where they change meanwhile.
  private static let largestPiece: Int64 = 256 << 10

  init(
    _ options: ArchiveOptions, _ buffers: FrameBuffers,
    checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) {
    codec = try options.format.compression?.makeContext(level: options.level, checking: check)
    self.buffers = buffers
    isRemembered = options.isRemembered
    headers = try TarHeaders()
    digest = try DigestStream(.sha256)
    batch = try DigestBatch()
  }

  /// Forgets the segment before.
  ///
  /// - Parameter byteCount: what the segment is going to have, roughly.
  func begin(expecting byteCount: Int) {
    plain.removeAll(keepingCapacity: true)
    if plain.capacity < byteCount {
      // First, so that there are never both.
      plain = []
      plain = buffers.take(room: byteCount)
    }
    members.removeAll(keepingCapacity: true)
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
    contentStart = 0
  }

  /// The frame of the segment; nil when nothing is in it.
  func frame() throws(BatchError) -> ArchiveFrame? {
    guard !plain.isEmpty else { return nil }
    try addDigests()
    guard let codec else {
      let content = try isRemembered ? ArchiveFrame.content(of: plain) : nil
      let bytes = takePlain()
      return ArchiveFrame(bytes: bytes, plainSize: UInt64(bytes.count), content: content)
    }
    return ArchiveFrame(
      bytes: try codec.compressed(plain, in: buffers.take()), plainSize: UInt64(plain.count),
      content: try isRemembered ? ArchiveFrame.content(of: plain) : nil)
  }

  /// The SHA-256 of content that goes into no segment.
  func digest(of content: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: content) { (raw) throws(BatchError) in try digest.digest(of: raw) }
  }

  /// Gives the plain bytes away.
  func takePlain() -> [UInt8] {
    defer { plain = [] }
    return plain
  }

  // MARK: Members

  /// Adds what has no content, or the header of what gets its content in other frames.
  ///
  /// - Throws: `invalid` for what the format has no place for; the segment is as it was.
  func add(_ entry: ArchiveEntry, identity: FileIdentity? = nil) throws(BatchError) {
    let start = plain.count
    try addHeader(entry)
    members.append(
      ArchivedMember(entry, offset: start, header: headerCheck(from: start), identity: identity))
  }

  /// Adds a file.
  ///
  /// The header is made first, of what the walk saw, and again where the content turns out to be another: the
  /// archive says what it holds, whatever happens to the file.
  ///
  /// - Parameters:
  ///   - bare: the entry without the values that need the open file.
  ///   - expected: the status that the entry was made of.
  ///   - read: gets room for the content, passes its pieces on, and returns the outcome; nil when the content is not to be
  ///     used. A piece that was read into the room is at its beginning. It passes the entry on first, each time that it starts.
  ///   - describe: gives an entry what another status says.
  /// - Returns: whether it is in the archive.
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
    // Files of /proc say 0, those of /sys a page; and a file may change while it is read.
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
    member.flags = MemberFlags(outcome)
    member.isSettled = outcome.isSettled
    waiting.append((members.count, contentStart..<plain.count))
    waitingBytes += plain.count - contentStart
    members.append(member)
    TarBlock.pad(&plain, from: contentStart)
    isAdded = true
    if waitingBytes >= DigestBatch.size { try addDigests() }
    return true
  }

  /// Reads the content of a file to the end of the segment.
  ///
  /// - Returns: the entry that belongs to it; nil when it is not to be used.
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
    // One byte more, by which the end of the file is noticed.
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

  /// Gives the members that wait their digests.
  private func addDigests() throws(BatchError) {
    try withBytes(of: plain) { (raw) throws(BatchError) in
      for (_, content) in waiting { batch.add(UnsafeRawBufferPointer(rebasing: raw[content])) }
      try batch.finish { (index, digest) in members[waiting[index].member].digest = digest }
    }
    waiting.removeAll(keepingCapacity: true)
    waitingBytes = 0
  }

  /// Adds a sparse file; its digest is that of the file with its holes.
  ///
  /// - Parameters:
  ///   - map: where the file has data.
  ///   - read: appends that data to the segment, and returns its flags and whether the file is settled; nil when the data is
  ///     not to be used.
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
    let sparse = SparseDigest(digest, map: map, size: entry.size)
    try withBytes(of: plain) { (raw) throws(BatchError) in
      try sparse.update(UnsafeRawBufferPointer(rebasing: raw[contentStart...]))
    }
    var member = ArchivedMember(
      entry, offset: start, header: headerCheck(from: start), digest: try sparse.finish(),
      identity: expected.identity)
    member.flags = flags
    member.isSettled = isSettled
    members.append(member)
    TarBlock.pad(&plain, from: contentStart)
    isAdded = true
    return true
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

  /// Of what stands between an offset and the content.
  private func headerCheck(from start: Int) -> HeaderChecksum {
    plain.withUnsafeBytes { HeaderChecksum(of: UnsafeRawBufferPointer(rebasing: $0[start..<contentStart])) }
  }

  // MARK: Content

  /// Appends `count` bytes: those that `fill` puts there and counts, then zeros.
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
  /// One complete frame of these bytes.
  ///
  /// - Parameter buffer: an empty one, whose room is used.
  func compressed(_ plain: [UInt8], in buffer: consuming [UInt8] = []) throws(BatchError) -> [UInt8] {
    var bytes = buffer
    try withBytes(of: plain) { (raw) throws(BatchError) in try compress(wholeFile: raw, into: &bytes) }
    return bytes
  }
}
