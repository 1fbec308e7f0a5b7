import BatchEngine

/// What one operation of a run that archives comes to.
public struct ArchivePart: Sendable {
  enum Content: Sendable {
    case nothing
    case segment(ArchiveFrame, [ArchivedMember])
    case header(LargeMember, ArchiveFrame, ArchivedMember)
    /// A file whose header could not be made, so that its blocks are of no use.
    case dropped(LargeMember)
    case block(LargeMember, index: Int, LargeBlock)
    /// For containers that one writer makes from its first member to its last.
    case members([SerialMember])
  }

  let content: Content
}

/// A block of a large file.
struct LargeBlock: Sendable {
  let frame: ArchiveFrame
  /// The plain bytes, where the frame is not just these.
  let plain: [UInt8]?
  /// How many of the plain bytes are the file's, and not padding.
  let count: Int
  /// Why some of them are zeros and not the file's.
  let failure: BatchError?
  /// Whether the file was the one that the walk saw, before and after.
  let isStable: Bool
}

/// A member with its content, which may go on in blocks.
struct SerialMember: Sendable {
  let entry: ArchiveEntry
  let content: [UInt8]
  /// Of the content; nil where nobody asked, and of what comes in blocks.
  var digest: Digest?
  /// How it was read; what is incomplete was counted as failed before.
  var flags: MemberFlags = []
  /// Of files with several names.
  let identity: FileIdentity?
  let linkCount: UInt64
  var large: LargeMember?
}
