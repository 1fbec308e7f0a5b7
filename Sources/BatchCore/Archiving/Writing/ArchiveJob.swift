import BatchEngine

/// Archives what a walk finds.
///
/// Each operation makes a whole segment of a tar archive: it reads its files, takes their digests, writes
/// their members and compresses all of it into one frame. The collector only puts frames one behind the other.
/// Containers that cannot be cut so (cpio, zip, 7z) are written by the collector, from what the operations read.
package struct ArchiveJob: BatchJob {
  package typealias Item = ArchiveItem

  private let options: ArchiveOptions
  private let buffers = FrameBuffers()
  private let output: any ResultStream
  private let parts: (any ArchiveParts)?
  private let settling: ChangeSettling?
  private let report: @Sendable ([ArchivedMember]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - output: takes the archive.
  ///   - settling: asked before the content of a file is read; nil where it does not matter.
  ///   - parts: take what the archive is made of, where it is a part of a larger one; nothing goes to `output` then.
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

  package func makeWorker(in context: WorkerContext) throws(BatchError) -> ArchiveWorker {
    let probe = context.laneProbe
    let bench = try SegmentWriter(options, buffers) { () throws(BatchError) in try probe.check() }
    return ArchiveWorker(options, try MemberMaker(options), bench, settling)
  }

  package func makeCollector(in context: CollectorContext) throws(BatchError) -> sending ArchiveCollector {
    try ArchiveCollector(options, context, output, parts, buffers, report)
  }

  /// The same for the collector of another job, which takes the members on its own queue.
  func makeCollector(
    in context: CollectorContext, _ report: @escaping ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) -> ArchiveCollector {
    try ArchiveCollector(options, context, output, parts, buffers, report)
  }
}

/// One result of an operation of a run that archives.
package enum ArchiveRow: Sendable {
  case segment(ArchiveFrame, [ArchivedMember])
  case header(LargeMember, ArchiveFrame, ArchivedMember)
  case block(LargeMember, index: Int, LargeBlock)
  /// For containers that one writer makes from its first member to its last.
  case members([SerialMember])
  /// A file that is not in the archive, so that no further name of it can be.
  case missing(FileIdentity)
}

/// A block of a large file.
package struct LargeBlock: Sendable {
  /// Nil where nothing of the block could be read.
  let frame: ArchiveFrame?
  /// The plain bytes, where the frame is not just these.
  let plain: [UInt8]?
  /// How many of the plain bytes are the file's, and not padding.
  let count: Int
  /// Why some of them are zeros and not the file's.
  let failure: BatchError?
  /// Whether the file was the one that the walk saw, before and after.
  let isStable: Bool
  /// ``ReadOutcome/isSettled`` when the block was read.
  let isSettled: Bool
}

/// A member with its content, which may go on in blocks.
package struct SerialMember: Sendable {
  let entry: ArchiveEntry
  let content: [UInt8]
  /// Of the content; nil where no digests are wanted, and for content in blocks.
  var digest: Digest?
  /// How it was read; what is incomplete was counted as failed before.
  var flags: MemberFlags = []
  /// ``ReadOutcome/isSettled``; of what comes in blocks these say it.
  var isSettled = false
  /// Of files with several names.
  let identity: FileIdentity?
  let linkCount: UInt64
  var large: LargeMember?
}
