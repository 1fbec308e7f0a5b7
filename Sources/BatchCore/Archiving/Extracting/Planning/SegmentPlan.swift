import BatchEngine

/// Members of one group of frames that were chosen.
struct SegmentPlan: Sendable {
  struct Choice: Sendable {
    let number: Int
    let disposition: Disposition
  }

  /// What is to be done with a member.
  enum Disposition: Sendable {
    case make(MemberClaims.Turn)
    /// A later member has its name.
    case superseded
    case refused(BatchError)
    /// A folder that it is in was refused and named before.
    case belowRefused
  }

  let archive: IndexedArchive
  let group: MemberIndex.Group
  /// All that the group has.
  let members: IndexSlice
  /// In the order of the archive.
  let choices: [Choice]
  /// What the contents have to be; nil where the archive alone says that.
  let names: MemberNames?

  /// Where members go: those that are named may have other names there.
  func selection(or all: MemberSelection) -> MemberSelection {
    names.map { all.limited(to: $0) } ?? all
  }
}
