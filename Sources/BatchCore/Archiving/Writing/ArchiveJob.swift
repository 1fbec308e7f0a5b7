import BatchEngine

/// Archives the files of a walk.
///
/// Each operation makes a whole segment of a tar archive: it reads its files, takes their digests, writes their members and
/// compresses all of it into one frame. The collector only concatenates frames. It writes containers that cannot be divided
/// like this (cpio, zip, 7z) itself, from the contents that the operations read.
package struct ArchiveJob: BatchJob {
  package typealias Item = ArchiveItem

  private let options: ArchiveOptions
  private let buffers = FrameBuffers()
  private let output: any ResultStream
  private let parts: (any ArchiveParts)?
  private let settling: ChangeSettling?
  private let report: @Sendable ([ArchivedMember]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - output: receives the archive.
  ///   - settling: checked before the content of a file is read; nil if not needed.
  ///   - parts: receive the frames and members if the archive becomes a part of a larger one; then nothing is written to `output`.
  ///   - report: receives every member, in the order of the archive.
  package init(
    _ options: ArchiveOptions, output: any ResultStream, parts: (any ArchiveParts)? = nil,
    settling: ChangeSettling? = nil,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) {
    self.options = options
    self.output = output
    self.parts = parts
    self.settling = settling
    self.report = report
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> ArchiveWorker {
    let probe = context.laneProbe
    let writer = try SegmentWriter(options, buffers) { () throws(BatchError) in try probe.check() }
    return ArchiveWorker(options, maker: try MemberMaker(options), writer: writer, settling: settling)
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) throws(BatchError)
    -> sending ArchiveCollector
  {
    try ArchiveCollector(options, in: context, output: output, parts: parts, buffers: buffers, report: report)
  }

  /// Makes a collector for use by the collector of another job, which receives the members on its own queue.
  func makeCollector(
    in context: CollectorContext, _ report: @escaping ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) -> ArchiveCollector {
    try ArchiveCollector(options, in: context, output: output, parts: parts, buffers: buffers, report: report)
  }
}

/// One result of an operation of a run that archives.
package enum ArchiveRow: Sendable {
  case segment(ArchiveFrame, [ArchivedMember])
  case header(LargeMember, ArchiveFrame, ArchivedMember)
  case block(LargeMember, index: Int, LargeBlock)
  /// For containers that one writer writes from the first member to the last.
  case members([SerialMember])
  /// A file that is not in the archive, so its further names cannot be links.
  case missing(FileIdentity)
}

/// A block of a large file.
package struct LargeBlock: Sendable {
  /// Nil if nothing of the block could be read.
  let frame: ArchiveFrame?
  /// The uncompressed bytes, if the frame is compressed.
  let plain: [UInt8]?
  /// How many of the uncompressed bytes belong to the file and are not padding.
  let count: Int
  /// Why some of them are zeros instead of the file's content.
  let failure: BatchError?
  /// Whether the file was as the walk found it, before and after reading.
  let isStable: Bool
  /// ``ReadOutcome/isSettled`` when the block was read.
  let isSettled: Bool
}

/// A member with its content, which may continue in blocks.
package struct SerialMember: Sendable {
  var entry: ArchiveEntry
  var content: [UInt8] = []
  /// The digest of the content; nil if no digests are needed, and for content in blocks.
  var digest: Digest?
  /// How the file was read; an incomplete one was already counted as failed.
  var flags: MemberFlags = []
  /// ``ReadOutcome/isSettled``; for content in blocks, each block has its own.
  var isSettled = false
  /// The identity of a file with several names.
  let identity: FileIdentity?
  let linkCount: UInt64
  var large: LargeMember?
}

/// What was written into an archive, for the comparison with what can be read back.
package struct WrittenArchive: Sendable {
  /// Bytes that no checksum of the format covers, up to the end of the archive.
  struct Stretch: Sendable {
    let bytes: Range<UInt64>
    let digest: Digest
  }

  let format: ArchiveFormat
  /// The members in the order in which they were written, never read from the archive itself.
  ///
  /// For a container without segments, one frame represents the whole archive, and the offsets are the numbers of members.
  let index: MemberIndex
  /// The digest of each frame's decoded content; empty for a container without segments.
  let contents: [Digest?]
  /// The index after compressed frames; the whole archive if its frames have no checksums.
  let stretch: Stretch
}

/// Receives the frames and members of an archive instead of its file, if they become a part of a larger archive.
package protocol ArchiveParts: Sendable {
  /// Adds the next frame and the members that begin in it.
  ///
  /// - Parameter number: the number of the frame, from 0.
  func add(_ frame: ArchiveFrame, number: UInt32, _ members: [ArchivedMember]) throws(BatchError)

  /// Adds a member whose frames were added before.
  ///
  /// - Parameter frame: the number of its first frame.
  func add(_ member: ArchivedMember, frame: UInt32) throws(BatchError)

  /// Records that a file with several names is not in the archive under its first name.
  func add(missing file: FileIdentity) throws(BatchError)
}
