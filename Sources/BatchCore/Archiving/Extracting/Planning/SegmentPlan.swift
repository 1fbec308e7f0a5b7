import BatchEngine

/// The selected members of one group of frames.
struct SegmentPlan: Sendable {
  typealias Choice = (number: Int, disposition: Disposition)

  /// What is done with a member.
  enum Disposition: Sendable {
    case make(MemberClaims.Wait)
    /// A later member has its name.
    case superseded
    case refused(BatchError)
    /// One of its folders was already refused and reported.
    case belowRefused
  }

  let archive: IndexedArchive
  let group: MemberIndex.Group
  /// All members of the group.
  let members: IndexSlice
  /// The selected members, in the order of the archive.
  let choices: [Choice]
  /// The expected digests of the contents; nil if unknown.
  let names: MemberNames?

  /// How many of the members are folders that only contain selected members.
  var countOnWay: Int {
    guard let names, names.hasFoldersOnWay else { return 0 }
    return choices.count { names.isOnWay(members[$0.number].path.bytes) }
  }

  /// Where members go: members in `names` may get other names there.
  func selection(or all: MemberSelection) -> MemberSelection {
    names.map { all.limited(to: $0) } ?? all
  }
}
