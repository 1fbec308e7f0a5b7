import BatchEngine

/// Selects members of an index, group by group; groups without a selected member are not read.
struct SegmentPlanner {
  let archive: IndexedArchive
  let planner: ExtractionPlanner
  let limits: ArchiveLimits
  private var groups: ArraySlice<MemberIndex.Group>
  private var cursor: IndexCursor
  private var plain: UInt64 = 0
  private let chosen: ChosenMembers
  private let claims: Bool
  private let leftOut: Set<Int>

  /// - Parameters:
  ///   - claims: whether the places of members are claimed; otherwise no member is refused or superseded.
  ///   - leftOut: the numbers of members that are not selected now.
  /// - Throws: the reason, when the run is to stop.
  init(
    _ archive: IndexedArchive, planner: ExtractionPlanner, limits: ArchiveLimits, claims: Bool,
    leavingOut leftOut: Set<Int> = []
  ) throws(BatchError) {
    self.archive = archive
    self.planner = planner
    self.limits = limits
    self.claims = claims
    self.leftOut = leftOut
    groups = archive.index.groups[...]
    cursor = IndexCursor(archive.index)
    chosen = try ChosenMembers(archive, planner, findsSuperseded: claims)
  }

  /// - Throws: `exhausted` when there is too much content.
  mutating func next() throws(BatchError) -> SegmentPlan? {
    while let group = groups.popFirst() {
      try archive.file.cancellation.check()
      var choices = [SegmentPlan.Choice]()
      let members = try cursor.slice(group.members)
      for number in group.members where chosen.isChosen(number) && !leftOut.contains(number) {
        guard !chosen.isSuperseded(number) else {
          choices.append((number, .superseded))
          continue
        }
        let member = members[number]
        plain += min(member.size, UInt64.max - plain)
        try limits.check(plain: plain, compressed: archive.file.size ?? 0)
        guard claims else {
          choices.append((number, .make(.nothing)))
          continue
        }
        guard let disposition = planner.claim(member.path, member.kind) else { continue }
        choices.append((number, disposition))
        try limits.check(
          plain: plain + min(planner.bytesOfFolders, UInt64.max - plain), compressed: archive.file.size ?? 0)
      }
      // Without patterns the whole archive is compared with its index.
      if !choices.isEmpty || planner.takesEverything {
        return SegmentPlan(
          archive: archive, group: group, members: members, choices: choices, names: planner.selection.names)
      }
    }
    return nil
  }
}
