import BatchEngine

/// Reads files for their digests: short ones wait in one buffer until it is full, and are then hashed together with SHA-256.
///
/// The worker keeps its results in order: it settles the waiting files before it adds the result of a file that does not wait.
final class DigestReader<Waiting> {
  struct Content {
    let outcome: ReadOutcome
    let byteCount: UInt64
    /// Nil if the file must wait.
    let digests: [Digest]?
  }

  private let batch: DigestBatch
  // Created for the first short file.
  private var room: UnsafeMutableRawBufferPointer?
  private var used = 0
  private var waiting: [Waiting] = []

  init() throws(BatchError) {
    batch = try DigestBatch()
  }

  deinit { room?.deallocate() }

  /// Reads a file as ``WorkerContext/read(_:isCounted:keepsShort:into:settling:beforeProblem:opened:consume:)``.
  ///
  /// - Parameters:
  ///   - set: the requested digests.
  ///   - isCounted: whether the file counts as done.
  ///   - opened: called with the open file each time that reading starts.
  ///   - copy: receives each piece of the content too.
  ///   - settle: calls ``settle(_:)``.
  /// - Returns: nil when the content must not be used. A content without digests must be passed to ``wait(_:_:)``; before one
  ///   with digests, all waiting files are settled.
  func read(
    _ record: FileRecord, for set: DigestSet, settling: ChangeSettling? = nil, isCounted: Bool = true,
    in context: WorkerContext,
    opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void = { _, _ in },
    copy: (UnsafeRawBufferPointer) throws(BatchError) -> Void = { _ in },
    settle: () throws(BatchError) -> Void
  ) throws(BatchError) -> Content? {
    let isShort = set.isSHA256 && (0...Int64(DigestBatch.longest)).contains(record.status.size)
    let room = try isShort ? room(for: Int(record.status.size), settle: settle) : nil
    var byteCount: UInt64 = 0
    var waits = true
    let outcome = try context.read(
      record, isCounted: isCounted, into: room, settling: settling, beforeProblem: settle
    ) { (file: borrowing Descriptor, status) throws(BatchError) in
      set.reset()
      byteCount = 0
      waits = room != nil
      try opened(file, status)
    } consume: { (piece) throws(BatchError) in
      try copy(piece)
      byteCount += UInt64(piece.count)
      if let room, piece.baseAddress == UnsafeRawPointer(room.baseAddress) { return }
      waits = false
      try set.update(piece)
    }
    guard let outcome else { return nil }
    if waits { return Content(outcome: outcome, byteCount: byteCount, digests: nil) }
    try settle()
    return Content(outcome: outcome, byteCount: byteCount, digests: try set.finish())
  }

  /// A buffer for a file and one more byte, to detect the end of the file.
  private func room(
    for size: Int, settle: () throws(BatchError) -> Void
  ) throws(BatchError) -> UnsafeMutableRawBufferPointer {
    let room = room ?? .allocate(byteCount: DigestBatch.size, alignment: 4096)
    self.room = room
    if used + size >= room.count { try settle() }
    return UnsafeMutableRawBufferPointer(rebasing: room[used...])
  }

  /// Keeps the last file until ``settle(_:)``.
  func wait(_ content: Content, _ file: Waiting) {
    let count = Int(clamping: content.byteCount)
    guard let room, count <= room.count - used else { return }
    batch.add(UnsafeRawBufferPointer(rebasing: room[used..<(used + count)]))
    used += count
    waiting.append(file)
  }

  /// Passes on the waiting files with their digests, in the order in which they were read.
  func settle(_ take: (Waiting, Digest) throws(BatchError) -> Void) throws(BatchError) {
    guard !waiting.isEmpty else { return }
    defer {
      waiting.removeAll(keepingCapacity: true)
      used = 0
    }
    try batch.finish { (index, digest) throws(BatchError) in try take(waiting[index], digest) }
  }
}
