import BatchEngine

/// The work of a lane for an archive: it reads files, computes their digests, and makes whole segments of a tar; for cpio, zip
/// and 7z it only reads.
package final class ArchiveWorker: BatchWorker {
  private let options: ArchiveOptions
  private let maker: MemberMaker
  private let writer: SegmentWriter
  private let settling: ChangeSettling?
  private let isSerial: Bool
  /// Members of the chunk for a container without segments.
  private var members: [SerialMember] = []
  /// Files with several names that this chunk failed to archive.
  private var lost: [FileIdentity] = []

  init(
    _ options: ArchiveOptions, maker: MemberMaker, writer: SegmentWriter, settling: ChangeSettling?
  ) {
    self.options = options
    self.maker = maker
    self.writer = writer
    self.settling = settling
    isSerial = options.format.container != .tar
  }

  package func begin(
    _ chunk: Chunk<ArchiveItem>, in context: WorkerContext, into rows: inout [ArchiveRow]
  ) {
    begin(expecting: chunk.items.reduce(0) { $0 + $1.plainSize })
  }

  /// Begins a chunk.
  ///
  /// - Parameter byteCount: the approximate size of its segment.
  func begin(expecting byteCount: Int) {
    writer.begin(expecting: isSerial ? 0 : byteCount)
    members.removeAll()
    lost.removeAll()
  }

  package func process(
    _ item: ArchiveItem, in context: WorkerContext, into rows: inout [ArchiveRow]
  ) throws(BatchError) {
    try context.checkCancellation()
    switch item {
    case .member(let record, let map):
      if !isSerial {
        try add(record, map, context)
      } else if let member = try serialMember(record, context) {
        members.append(member)
      }
    case .link(let record, let first): try addLink(record, to: first, context)
    // These items are alone in their chunk.
    case .header(let member): rows.append(try header(member, context))
    case .block(let member, let index): rows.append(try block(member, index, context))
    }
  }

  /// Processes an item, and gives its member a number.
  ///
  /// - Returns: whether the item has a member in the segment of the chunk.
  func process(
    _ item: ArchiveItem, numbered number: UInt64, in context: WorkerContext, into rows: inout [ArchiveRow]
  ) throws(BatchError) -> Bool {
    let count = writer.members.count
    writer.number = number
    try process(item, in: context, into: &rows)
    return writer.members.count > count
  }

  package func end(in context: WorkerContext, into rows: inout [ArchiveRow]) throws(BatchError) {
    try end(in: context, into: &rows, without: nil)
  }

  /// Ends a chunk.
  ///
  /// - Parameter isUnneeded: whether a member of the segment is left out; called once for each.
  func end(
    in context: WorkerContext, into rows: inout [ArchiveRow],
    without isUnneeded: ((ArchivedMember) throws(BatchError) -> Bool)?
  ) throws(BatchError) {
    rows += lost.map { .missing($0) }
    if !members.isEmpty { rows.append(.members(members)) }
    members.removeAll()
    // The frame of a header or block has already been taken.
    guard !isSerial, rows.isEmpty || !lost.isEmpty, let frame = try writer.frame(without: isUnneeded)
    else { return }
    rows.append(.segment(frame, writer.members))
  }

  private func add(
    _ record: FileRecord, _ map: [Range<UInt64>]?, _ context: WorkerContext
  ) throws(BatchError) {
    guard record.status.kind == .regular else {
      if let entry = try entry(record, context) { try addEntry(entry, record, context) }
      return
    }
    let isAdded: Bool
    do throws(BatchError) {
      if let map = map ?? dataMap(of: record, context) {
        guard let entry = try entry(record, context) else { return }
        isAdded = try writer.addSparse(entry, map: map, of: record.status) { () throws(BatchError) in
          try readSparse(record, map, context)
        }
      } else {
        let bare = try maker.bareEntry(for: record)
        isAdded = try writer.add(bare, of: record.status) { (room, begin, consume) throws(BatchError) in
          try context.read(record, keepsShort: true, into: room, settling: settling) {
            (file: borrowing Descriptor, _) in
            var entry = bare
            entry.attributes = AttributeReader.attributes(of: file.raw)
            begin(entry)
          } consume: { piece in
            consume(piece)
          }
        } describing: { status, entry in
          maker.describe(status, in: &entry)
        }
      }
    } catch {
      guard error.code == .invalid else { throw error }
      context.report(Problem(.unreadable, error.at(record.path)))
      lose(record)
      return
    }
    if !isAdded { lose(record) }
  }

  /// Adds an entry without content; an error of its header is reported for the member.
  private func addEntry(
    _ entry: ArchiveEntry, _ record: FileRecord, _ context: WorkerContext
  ) throws(BatchError) {
    do throws(BatchError) {
      try writer.add(entry, identity: record.status.identity)
    } catch {
      guard error.code == .invalid else { throw error }
      context.report(Problem(.unreadable, error.at(record.path)))
      return
    }
    context.finish()
  }

  /// Nil if it cannot be created, which has been reported.
  private func entry(_ record: FileRecord, _ context: WorkerContext) throws(BatchError) -> ArchiveEntry? {
    do throws(BatchError) {
      return try maker.entry(for: record, in: context)
    } catch {
      try context.checkCancellation()
      context.report(error.code == .special ? .special(record.status.kind, at: record.path) : Problem(error))
      lose(record)
      return nil
    }
  }

  // MARK: Sparse files

  /// Holes in smaller files are not worth searching.
  private static let smallestSparse: Int64 = 16 << 10

  private func dataMap(of record: FileRecord, _ context: WorkerContext) -> [Range<UInt64>]? {
    let status = record.status
    guard status.size >= Self.smallestSparse, status.allocated < status.size else { return nil }
    return try? context.withFile(record) { (descriptor, now) throws(BatchError) in
      now.hasSameContent(as: status) ? DataMap.read(descriptor, size: UInt64(clamping: status.size)) : nil
    }
  }

  private func readSparse(
    _ record: FileRecord, _ map: [Range<UInt64>], _ context: WorkerContext
  ) throws(BatchError) -> (MemberFlags, isSettled: Bool)? {
    var isSettled = false
    do throws(BatchError) {
      let isStable = try context.withFile(record) { (descriptor, before) throws(BatchError) in
        isSettled = self.isSettled(before, descriptor)
        for range in map {
          guard try read(range, of: descriptor, context) else {
            throw BatchError(.unreadable, "became shorter while it was read")
          }
        }
        return try isUnchanged(descriptor, since: before, record: record, in: context)
      }
      guard isStable else { return context.finishChanged(record.path) ? (.changed, isSettled) : nil }
    } catch {
      try context.checkCancellation()
      context.report(Problem(error))
      return nil
    }
    context.finish()
    return ([], isSettled)
  }

  private func isSettled(_ status: FileStatus, _ descriptor: Int32) -> Bool {
    settling?.isSettled(status, of: descriptor) ?? false
  }

  private func isUnchanged(
    _ descriptor: Int32, since before: FileStatus, record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> Bool {
    guard before.hasSameContent(as: record.status) else { return false }
    return try context.status(of: descriptor).hasSameContent(as: before)
  }

  /// Bytes that are read between two cancellation checks.
  private static let pieceSize: UInt64 = 8 << 20

  /// Appends a part of a file.
  ///
  /// - Returns: whether the whole part could be read; missing bytes are replaced by zeros.
  private func read(
    _ range: Range<UInt64>, of descriptor: Int32, _ context: WorkerContext
  ) throws(BatchError) -> Bool {
    var position = range.lowerBound
    var isWhole = true
    while position < range.upperBound {
      try context.checkCancellation()
      let wanted = Int(min(Self.pieceSize, range.upperBound - position))
      try writer.append(wanted) { (room) throws(BatchError) in
        var count = 0
        while count < wanted {
          let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
          let offset = Int(clamping: position + UInt64(count))
          let result = context.calls.read(descriptor, into: rest, at: offset)
          guard result >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -result)) }
          if result == 0 {
            isWhole = false
            break
          }
          count += result
        }
        context.count(bytes: count)
        return count
      }
      position += UInt64(wanted)
    }
    return isWhole
  }

  /// Adds a further name; the collector knows whether the first one is in the archive.
  private func addLink(
    _ record: FileRecord, to first: PathBytes, _ context: WorkerContext
  ) throws(BatchError) {
    let status = record.status
    do throws(BatchError) {
      guard let entry = try maker.link(for: record, to: first) else { return context.skip(.repeated) }
      guard !isSerial else {
        members.append(
          SerialMember(entry: entry, identity: status.identity, linkCount: status.linkCount))
        return
      }
      try writer.add(entry, identity: status.identity)
    } catch {
      guard error.code == .invalid else { throw error }
      context.report(Problem(.unreadable, error.at(record.path)))
    }
  }

  private func lose(_ record: FileRecord) {
    if record.status.linkCount > 1 { lost.append(record.status.identity) }
  }

  // MARK: Large files

  private func header(_ member: LargeMember, _ context: WorkerContext) throws(BatchError) -> ArchiveRow {
    do throws(BatchError) {
      // A file that cannot be opened gets no member, instead of one with zeros.
      try context.withFile(member.record) { (_, _) throws(BatchError) in }
      var entry = try maker.entry(for: member.record, in: context)
      entry.dataMap = member.dataMap
      if let path = member.partPath { entry.path = path }
      let status = member.record.status
      if isSerial {
        return .members([
          SerialMember(
            entry: entry, identity: status.identity, linkCount: status.linkCount, large: member)
        ])
      }
      try writer.add(entry, identity: status.identity)
      if let frame = try writer.frame(), var written = writer.members.first {
        if member.isPart { written.partSize = member.storedSize }
        return .header(member, frame, written)
      }
    } catch {
      try context.checkCancellation()
      context.report(Problem(error))
    }
    return .missing(member.record.status.identity)
  }

  private func block(
    _ member: LargeMember, _ index: Int, _ context: WorkerContext
  ) throws(BatchError) -> ArchiveRow {
    let ranges = member.ranges(ofBlock: index)
    let count = Int(ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) })
    var failure: BatchError?
    var (isStable, isSettled) = (true, false)
    do throws(BatchError) {
      isStable = try context.withFile(member.record) { (descriptor, before) throws(BatchError) in
        isSettled = self.isSettled(before, descriptor)
        for range in ranges {
          let isWhole = try read(range, of: descriptor, context)
          if !isWhole { failure = BatchError(.changed, "it became shorter") }
        }
        return try isUnchanged(descriptor, since: before, record: member.record, in: context)
      }
    } catch {
      try context.checkCancellation()
      failure = error
      // Only the collector knows whether a header has announced these bytes.
      guard !writer.plain.isEmpty else {
        return .block(
          member, index: index,
          LargeBlock(
            frame: nil, plain: nil, count: count, failure: error, isStable: true, isSettled: false))
      }
      let rest = count - writer.plain.count
      if rest > 0 { try writer.append(rest) { _ in 0 } }
    }
    if !isSerial, index == member.blockCount - 1 { writer.pad() }
    let isPlain = options.format.compression == nil
    let frame = try isSerial ? plainFrame() : writer.frame()
    return .block(
      member, index: index,
      LargeBlock(
        frame: frame, plain: isPlain ? nil : writer.takePlain(), count: count, failure: failure,
        isStable: isStable, isSettled: isSettled))
  }

  private func plainFrame() -> ArchiveFrame {
    let bytes = writer.takePlain()
    return ArchiveFrame(bytes: bytes, plainSize: UInt64(bytes.count))
  }

  // MARK: Containers of one piece

  private func serialMember(
    _ record: FileRecord, _ context: WorkerContext
  ) throws(BatchError) -> SerialMember? {
    switch record.status.kind {
    case .regular, .directory, .symbolicLink: break
    default:
      guard options.format.takesSpecialMembers else {
        context.report(.special(record.status.kind, at: record.path))
        return nil
      }
    }
    guard var entry = try entry(record, context) else { return nil }
    var content = [UInt8]()
    var digest: Digest?
    var flags: MemberFlags = []
    var isSettled = false
    if entry.kind == .file {
      content.reserveCapacity(Int(clamping: record.status.size))
      let outcome = try context.read(record, isCounted: false, keepsShort: true, settling: settling) {
        (_: borrowing Descriptor, _) throws(BatchError) in
        content.removeAll(keepingCapacity: true)
      } consume: { piece in
        content.append(contentsOf: piece)
      }
      guard let outcome else {
        lose(record)
        return nil
      }
      maker.describe(outcome.status, in: &entry)
      (flags, isSettled) = (MemberFlags(outcome), outcome.isSettled)
      entry.size = UInt64(content.count)
      if options.isRemembered { digest = try writer.digest(of: content) }
    }
    return SerialMember(
      entry: entry, content: content, digest: digest, flags: flags, isSettled: isSettled,
      identity: record.status.identity, linkCount: record.status.linkCount)
  }
}
