import BatchEngine
import BatchOutputs

/// Builds the archive: appends frames, and adds their members to the index.
final class ArchiveAssembler {
  /// A large file whose blocks are being appended.
  private final class Large {
    let member: LargeMember
    var outcome: LargeOutcome
    let frame: UInt32
    let digest: SparseDigest
    let blocks: BlockHashes?

    init(
      _ member: LargeMember, _ entry: ArchivedMember, frame: UInt32, _ options: ArchiveOptions
    ) throws(BatchError) {
      blocks =
        member.isPart ? nil : options.blockSeed.flatMap { BlockHashes(seed: $0, fileSize: member.size) }
      self.member = member
      outcome = LargeOutcome(entry)
      self.frame = frame
      digest = SparseDigest(try DigestStream(.sha256), map: member.dataMap, size: member.size, blocks: blocks)
    }
  }

  private static let copySize: UInt64 = 1 << 20

  private let options: ArchiveOptions
  private let stream: any ResultStream
  /// The output stream, if it must compute a digest because the frames have no checksums.
  private let measured: MeasuredStream?
  private let parts: (any ArchiveParts)?
  private let buffers: FrameBuffers
  private let concurrency: ConcurrencyLimit
  private let index: MemberIndexBuilder
  private var frames: [MemberIndex.Frame] = []
  private var frameCount = 0
  /// The digest of each frame's content, if the archive is read back.
  private var contents: [Digest?] = []
  private var offset: UInt64 = 0
  private var plainOffset: UInt64 = 0
  private var large: Large?

  init(
    _ options: ArchiveOptions, stream: any ResultStream, _ parts: (any ArchiveParts)? = nil,
    buffers: FrameBuffers, _ concurrency: ConcurrencyLimit
  ) throws(BatchError) {
    self.parts = parts
    self.options = options
    measured =
      options.isRemembered && options.format.compression == nil ? try MeasuredStream(stream, .xxh128) : nil
    self.stream = measured ?? stream
    self.buffers = buffers
    self.concurrency = concurrency
    index = try MemberIndexBuilder()
  }

  func append(_ frame: ArchiveFrame, _ members: [ArchivedMember]) throws(BatchError) {
    let number = try append(frame, with: members)
    if parts != nil { return }
    for member in members { try index.add(member, frame: number) }
  }

  /// Appends a frame that was made elsewhere; ``adopt(_:frame:)`` follows for its members.
  ///
  /// - Returns: its number.
  func adopt(_ frame: ArchiveFrame) throws(BatchError) -> UInt32 { try append(frame) }

  /// Appends a frame that is copied from a file.
  ///
  /// - Parameters:
  ///   - content: where the frame is in the file.
  ///   - plainSize: the number of bytes to which it decodes.
  ///   - check: its CRC-32.
  ///   - read: reads a range of the file.
  func adopt(
    _ content: Range<UInt64>, of file: Int32, plainSize: UInt64, check: UInt32,
    by read: (Range<UInt64>) throws(BatchError) -> [UInt8]
  ) throws(BatchError) -> UInt32 {
    let number = try nextNumber()
    var rest = content
    if let output = stream as? OutputFile {
      rest = (rest.lowerBound + (try output.append(rest, of: file)))..<rest.upperBound
    }
    while !rest.isEmpty {
      let piece = rest.lowerBound..<min(rest.upperBound, rest.lowerBound + Self.copySize)
      try stream.write(try read(piece))
      rest = piece.upperBound..<rest.upperBound
    }
    note(size: UInt64(content.count), plainSize: plainSize, check: check)
    return number
  }

  /// Adds a member whose frames were adopted.
  func adopt(_ member: ArchivedMember, frame: UInt32) throws(BatchError) {
    try index.add(member, frame: frame)
  }

  /// Appends the header of a large file, whose blocks follow.
  func begin(_ member: LargeMember, _ frame: ArchiveFrame, _ entry: ArchivedMember) throws(BatchError) {
    let number = try append(frame)
    large = try Large(member, entry, frame: number, options)
  }

  /// Appends the next block of a large file.
  ///
  /// - Returns: the outcome of the member, if this was its last block.
  func append(_ block: LargeBlock, _ position: Int, of member: LargeMember) throws(BatchError)
    -> LargeOutcome?
  {
    // Without its header a block is useless.
    guard let large, large.member === member else { return nil }
    let isLast = position == member.blockCount - 1
    var (frame, plain) = (block.frame, block.plain)
    if frame == nil { (frame, plain) = try zeros(block.count, isLast: isLast) }
    guard let frame else { return nil }
    try withBytes(of: plain ?? frame.bytes) { (raw) throws(BatchError) in
      try large.digest.update(UnsafeRawBufferPointer(rebasing: raw[..<block.count]))
    }
    if let plain { give(plain) }
    _ = try append(frame)
    large.outcome.add(block, position)
    guard isLast else { return nil }
    self.large = nil
    large.outcome.member.digest = try large.digest.finish()
    large.outcome.member.blocks = large.blocks?.finish()
    if let parts {
      try parts.add(large.outcome.member, frame: large.frame)
    } else {
      try index.add(large.outcome.member, frame: large.frame)
    }
    return large.outcome
  }

  /// Zeros for a block that could not be read, because the header has announced its bytes.
  private func zeros(_ count: Int, isLast: Bool) throws(BatchError) -> (ArchiveFrame, plain: [UInt8]?) {
    var plain = [UInt8](repeating: 0, count: count)
    if isLast { TarBlock.pad(&plain, from: 0) }
    return (try options.frame(of: plain), options.format.compression == nil ? nil : plain)
  }

  /// Returns a buffer. For each lane, one is filled and one is written, and a few more are in transit.
  private func give(_ buffer: [UInt8]) {
    buffers.give(buffer, keeping: min(concurrency.current, 64) * 2 + 2)
  }

  /// Writes the end of the archive and the index.
  ///
  /// - Parameter origin: the archive from which a compacted one was made.
  /// - Returns: what was written; nil if the caller did not request it.
  func finish(of origin: StoredArchive? = nil) throws(BatchError) -> WrittenArchive? {
    if parts != nil { return nil }
    let codec = try options.format.compression?.makeContext(level: options.level)
    _ = try append(options.frame(of: [UInt8](repeating: 0, count: 2 * TarBlock.size), codec))
    var tail = ArchiveTail(
      format: options.format, index: try index.finish(frames), offset: offset, frames: frames)
    tail.origin = origin
    let behind = options.isRemembered && measured == nil ? try MeasuredStream(stream, .sha256) : nil
    try tail.write(codec) { (bytes) throws(BatchError) in try (behind ?? stream).write(bytes) }
    guard let source = behind ?? measured else { return nil }
    return WrittenArchive(
      format: options.format,
      index: try StoredIndex.read(tail.index, checks: true, size: offset, memory: .max),
      contents: contents, stretch: try source.stretch(from: behind == nil ? 0 : offset))
  }

  private func append(
    _ frame: ArchiveFrame, with members: [ArchivedMember] = []
  ) throws(BatchError) -> UInt32 {
    let number = try nextNumber()
    defer { give(frame.bytes) }
    if let parts {
      try parts.add(frame, number: number, members)
      return number
    }
    try stream.write(frame.bytes)
    if options.isRemembered { contents.append(frame.content) }
    note(size: UInt64(frame.bytes.count), plainSize: frame.plainSize, check: frame.check)
    return number
  }

  private func nextNumber() throws(BatchError) -> UInt32 {
    guard let number = UInt32(exactly: frameCount) else {
      throw BatchError(.invalid, "the archive would have more frames than its index can count")
    }
    frameCount += 1
    return number
  }

  private func note(size: UInt64, plainSize: UInt64, check: UInt32) {
    frames.append(
      MemberIndex.Frame(
        compressed: offset..<(offset + size), plain: plainOffset..<(plainOffset + plainSize), check: check))
    offset += size
    plainOffset += plainSize
  }
}
