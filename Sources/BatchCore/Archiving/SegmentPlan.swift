/// Members of one group of frames that were chosen.
struct SegmentPlan: Sendable {
  struct Choice: Sendable {
    let number: Int
    /// Why it is not to be made after all.
    let refusal: BatchError?
  }

  let archive: IndexedArchive
  let group: MemberIndex.Group
  /// All that the group has.
  let members: IndexSlice
  /// In the order of the archive.
  let choices: [Choice]
}
