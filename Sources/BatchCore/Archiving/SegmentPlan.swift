/// Members of one group of frames that were chosen.
struct SegmentPlan: Sendable {
  struct Choice: Sendable {
    let number: Int
    /// Why it is not to be made after all.
    let refusal: BatchError?
  }

  let archive: IndexedArchive
  let group: MemberIndex.Group
  /// In the order of the archive.
  let choices: [Choice]

  /// Bytes of content that are decoded for it.
  var plainSize: UInt64 {
    let frames = archive.index.frames
    return frames[group.frames.upperBound - 1].plain.upperBound
      - frames[group.frames.lowerBound].plain.lowerBound
  }
}
