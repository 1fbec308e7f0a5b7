import BatchEngine
import Glibc
import Synchronization

/// Archives what a walk finds.
///
/// Each operation makes a whole segment of a tar archive: it reads its files, takes their digests, writes
/// their members and compresses all of it into one frame. Here frames are only put one behind the other.
/// Containers that cannot be cut so (cpio, zip, 7z) are written here, from what the operations read.
public final class ArchiveJob: ChunkJob {
  private let options: ArchiveOptions
  private let maker: MemberMaker
  private let cancellation: Cancellation
  private let buffers: FrameBuffers
  private let account: OutputAccount
  private let segments: Locked<ArchiveAssembler>?
  private let serial: Locked<SerialArchive>?
  /// Files with several names whose first one is not in the archive.
  private let missing = Mutex<Set<FileIdentity>>([])
  private let report: @Sendable ([ArchivedMember]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - run: whose counters and policies the job uses.
  ///   - observer: told of what concerns large files and links.
  ///   - output: takes the archive.
  ///   - report: told of every member, in the order of the archive.
  /// - Throws: `invalid` for a level that the format has not.
  public init(
    _ options: ArchiveOptions, run runner: RunContext, observer: any RunObserver, output: any ResultStream,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.options = options
    self.report = report
    maker = MemberMaker(options)
    cancellation = runner.cancellation
    let account = OutputAccount(
      counters: runner.counters, observer: observer, policy: runner.options.policy)
    self.account = account
    // One that is filled and one that is written for each lane, and some on their way.
    buffers = FrameBuffers(limit: min(runner.concurrency.current, 64) * 2 + 2)
    if options.format.container == .tar {
      segments = Locked(
        try ArchiveAssembler(options, stream: output, account: account, buffers: buffers))
      serial = nil
    } else {
      segments = nil
      serial = Locked(try SerialArchive(options, stream: output))
    }
  }

  // MARK: On the lanes

  public func process(
    _ chunk: Chunk<ArchiveItem>, in context: ChunkContext
  ) throws(BatchError) -> ArchivePart {
    let cancellation = cancellation
    let bench = try context.tool(of: self) { () throws(BatchError) in
      try SegmentBench(options, buffers) { () throws(BatchError) in try cancellation.check() }
    }
    bench.begin(expecting: serial == nil ? chunk.items.reduce(0) { $0 + $1.plainSize } : 0)
    var members = [SerialMember]()
    for item in chunk.items {
      try context.checkCancellation()
      switch item {
      case .problem(let problem): context.report(problem)
      case .member(let record, let map):
        if serial == nil {
          try add(record, map, bench, context)
        } else if let member = try serialMember(record, bench, context) {
          members.append(member)
        }
      case .link(let record, let first):
        let entry = maker.link(for: record, to: first)
        if isMissing(record) {
          context.report(Problem(.unreadable, Self.missing(record.path)))
        } else if serial == nil {
          try addEntry(entry, record, bench, context)
        } else {
          members.append(
            SerialMember(
              entry: entry, content: [], identity: record.status.identity,
              linkCount: record.status.linkCount))
        }
      // These come alone.
      case .header(let member): return ArchivePart(content: try header(member, bench, context))
      case .block(let member, let index):
        return ArchivePart(content: try block(member, index, bench, context))
      }
    }
    if serial != nil { return ArchivePart(content: .members(members)) }
    guard let frame = try bench.frame() else { return ArchivePart(content: .nothing) }
    return ArchivePart(content: .segment(frame, bench.members))
  }

  private func add(
    _ record: FileRecord, _ map: [Range<UInt64>]?, _ bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) {
    guard record.status.kind == .regular else {
      if let entry = try entry(record, context) { try addEntry(entry, record, bench, context) }
      return
    }
    let isAdded: Bool
    do throws(BatchError) {
      if let map = map ?? dataMap(of: record, context) {
        guard let entry = try entry(record, context) else { return }
        isAdded = try bench.addSparse(entry, map: map, of: record.status) { () throws(BatchError) in
          try readSparse(record, map, bench, context)
        }
      } else {
        let bare = try maker.bareEntry(for: record)
        isAdded = try bench.add(of: record.status) { (begin) throws(BatchError) in
          try context.read(record, keepsShort: true) { (file: borrowing Descriptor, _) throws(BatchError) in
            var entry = bare
            entry.attributes = AttributeReader.attributes(of: file.raw)
            try begin(entry)
          } consume: { piece in
            bench.append(piece)
          }
        } describing: { status, entry in
          maker.describe(status, in: &entry)
        }
      }
    } catch {
      guard error.code == .invalid else { throw error }
      context.report(Problem(.unreadable, error.at(record.path)))
      noteMissing(record)
      return
    }
    if !isAdded { noteMissing(record) }
  }

  /// What has no content; an error of the header is the member's.
  private func addEntry(
    _ entry: ArchiveEntry, _ record: FileRecord, _ bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) {
    do throws(BatchError) {
      try bench.add(entry, identity: record.status.identity)
    } catch {
      guard error.code == .invalid else { throw error }
      context.report(Problem(.unreadable, error.at(record.path)))
      return
    }
    context.finish()
  }

  /// Nil when it cannot be made, which has been reported.
  private func entry(_ record: FileRecord, _ context: ChunkContext) throws(BatchError) -> ArchiveEntry? {
    do throws(BatchError) {
      return try maker.entry(for: record, in: context)
    } catch {
      try context.checkCancellation()
      context.report(error.code == .special ? .special(record.status.kind, at: record.path) : Problem(error))
      noteMissing(record)
      return nil
    }
  }

  // MARK: Sparse files

  /// Holes in smaller files are not worth a map.
  private static let smallestSparse: Int64 = 16 << 10

  private func dataMap(of record: FileRecord, _ context: ChunkContext) -> [Range<UInt64>]? {
    let status = record.status
    guard status.size >= Self.smallestSparse, status.allocated < status.size else { return nil }
    return try? context.withFile(record) { (descriptor, now) throws(BatchError) in
      now.hasSameContent(as: status) ? DataMap.read(descriptor, size: UInt64(clamping: status.size)) : nil
    }
  }

  private func readSparse(
    _ record: FileRecord, _ map: [Range<UInt64>], _ bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) -> MemberFlags? {
    do throws(BatchError) {
      let isStable = try context.withFile(record) { (descriptor, before) throws(BatchError) in
        for range in map {
          guard try read(range, of: descriptor, into: bench, context) else {
            throw BatchError(.unreadable, "became shorter while it was read")
          }
        }
        return try isUnchanged(descriptor, before, record)
      }
      guard isStable else { return context.finishChanged(record.path) ? .changed : nil }
    } catch {
      try context.checkCancellation()
      context.report(Problem(error))
      return nil
    }
    context.finish()
    return []
  }

  private func isUnchanged(
    _ descriptor: Int32, _ before: FileStatus, _ record: FileRecord
  ) throws(BatchError) -> Bool {
    var raw = stat()
    guard fstat(descriptor, &raw) == 0 else { throw .syscall("read the status", errno: errno) }
    return before.hasSameContent(as: record.status) && FileStatus(raw).hasSameContent(as: before)
  }

  /// Bytes that are read without a look whether to go on.
  private static let pieceSize: UInt64 = 8 << 20

  /// Appends a part of a file.
  ///
  /// - Returns: whether the file has all of it; what is missing is filled with zeros.
  private func read(
    _ range: Range<UInt64>, of descriptor: Int32, into bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) -> Bool {
    var position = range.lowerBound
    var isWhole = true
    while position < range.upperBound {
      try context.checkCancellation()
      let wanted = Int(min(Self.pieceSize, range.upperBound - position))
      try bench.append(wanted) { (room) throws(BatchError) in
        var count = 0
        while count < wanted {
          let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
          let offset = off_t(clamping: position + UInt64(count))
          let result = retrying { pread(descriptor, rest.baseAddress, rest.count, offset) }
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

  // MARK: Large files

  private func header(
    _ member: LargeMember, _ bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) -> ArchivePart.Content {
    do throws(BatchError) {
      // What cannot be opened has no member, rather than one that is zeros.
      try context.withFile(member.record) { (_, _) throws(BatchError) in }
      var entry = try maker.entry(for: member.record, in: context)
      entry.dataMap = member.dataMap
      if serial != nil {
        let status = member.record.status
        return .members([
          SerialMember(
            entry: entry, content: [], identity: status.identity, linkCount: status.linkCount, large: member)
        ])
      }
      try bench.add(entry, identity: member.record.status.identity)
      if let frame = try bench.frame(), let written = bench.members.first {
        return .header(member, frame, written)
      }
    } catch {
      try context.checkCancellation()
      context.report(Problem(error))
    }
    member.giveUp()
    noteMissing(member.record)
    return .dropped(member)
  }

  private func block(
    _ member: LargeMember, _ index: Int, _ bench: SegmentBench, _ context: ChunkContext
  ) throws(BatchError) -> ArchivePart.Content {
    guard !member.isGivenUp else { return .nothing }
    let ranges = member.ranges(ofBlock: index)
    let count = Int(ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) })
    var failure: BatchError?
    var isStable = true
    do throws(BatchError) {
      isStable = try context.withFile(member.record) { (descriptor, before) throws(BatchError) in
        for range in ranges {
          let isWhole = try read(range, of: descriptor, into: bench, context)
          if !isWhole { failure = BatchError(.changed, "it became shorter") }
        }
        return try isUnchanged(descriptor, before, member.record)
      }
    } catch {
      try context.checkCancellation()
      failure = error
      // The header has told the size: what is missing has to be there, and be known for what it is.
      let rest = count - bench.plain.count
      if rest > 0 { try bench.append(rest) { _ in 0 } }
    }
    if serial == nil, index == member.blockCount - 1 { bench.pad() }
    let isPlain = options.format.compression == nil
    guard let frame = try serial == nil ? bench.frame() : Self.plainFrame(bench) else { return .nothing }
    return .block(
      member, index: index,
      LargeBlock(
        frame: frame, plain: isPlain ? nil : bench.takePlain(), count: count, failure: failure,
        isStable: isStable))
  }

  private static func plainFrame(_ bench: SegmentBench) -> ArchiveFrame {
    let bytes = bench.takePlain()
    return ArchiveFrame(bytes: bytes, plainSize: UInt64(bytes.count))
  }

  // MARK: Files with several names

  private func noteMissing(_ record: FileRecord) {
    guard record.status.linkCount > 1 else { return }
    missing.withLock { _ = $0.insert(record.status.identity) }
  }

  private func isMissing(_ record: FileRecord) -> Bool {
    missing.withLock { $0.contains(record.status.identity) }
  }

  private static func missing(_ path: PathBytes) -> BatchError {
    BatchError(
      .unreadable, "is one more name of a file that could not be archived under its first one", path: path)
  }

  // MARK: Containers of one piece

  private func serialMember(
    _ record: FileRecord, _ bench: SegmentBench, _ context: ChunkContext
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
    if entry.kind == .file {
      content.reserveCapacity(Int(clamping: record.status.size))
      let outcome = try context.read(record, isCounted: false, keepsShort: true) {
        (_: borrowing Descriptor, _) throws(BatchError) in
        content.removeAll(keepingCapacity: true)
      } consume: { piece in
        content.append(contentsOf: piece)
      }
      guard let outcome else {
        noteMissing(record)
        return nil
      }
      maker.describe(outcome.status, in: &entry)
      flags = MemberFlags(outcome)
      entry.size = UInt64(content.count)
      if options.isRemembered { digest = try bench.digest(of: content) }
    }
    return SerialMember(
      entry: entry, content: content, digest: digest, flags: flags, identity: record.status.identity,
      linkCount: record.status.linkCount)
  }

  // MARK: In order

  public func collect(_ part: ArchivePart) throws(BatchError) {
    switch part.content {
    case .nothing, .dropped: break
    case .segment(let frame, let members):
      try segments?.use { (archive) throws(BatchError) in try archive.append(frame, members) }
      for member in members where member.kind == .hardLink { check(member) }
      try report(members)
    case .header(let member, let frame, let entry):
      try segments?.use { (archive) throws(BatchError) in try archive.begin(member, frame, entry) }
    case .block(let member, let index, let block):
      let written: ArchivedMember?
      if let segments {
        written = try segments.use { (archive) throws(BatchError) in
          try archive.append(block, index, of: member)
        }
      } else {
        written = try serial?.use { (archive) throws(BatchError) in
          try archive.append(block, index, of: member, account)
        }
      }
      if let written { try report([written]) }
    case .members(let members):
      guard let serial else { return }
      let written = try serial.use { (archive) throws(BatchError) in
        try archive.append(members, account)
      }
      try report(written)
    }
  }

  /// A link may have been made before anybody knew that what it leads to is not there.
  private func check(_ link: ArchivedMember) {
    guard let identity = link.identity, missing.withLock({ $0.contains(identity) }) else { return }
    account.withdrawn(Self.missing(link.path))
  }

  /// Writes the end of the archive. To be called after a run that was not stopped, and before the output is
  /// finished.
  ///
  /// - Returns: what was written; nil without ``ArchiveOptions/isRemembered``.
  /// - Throws: the error of the output.
  public func finish() throws(BatchError) -> WrittenArchive? {
    if let segments { return try segments.use { (archive) throws(BatchError) in try archive.finish() } }
    return try serial?.use { (archive) throws(BatchError) in try archive.finish() }
  }
}
