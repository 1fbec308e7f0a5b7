/// Goes over an index, group by group, and chooses; groups of which nothing is chosen are not read.
struct SegmentPlanner {
  let archive: IndexedArchive
  let planner: ExtractionPlanner
  let limits: ArchiveLimits
  private var groups: ArraySlice<MemberIndex.Group>
  private var cursor: IndexCursor
  private var plain: UInt64 = 0

  init(_ archive: IndexedArchive, planner: ExtractionPlanner, limits: ArchiveLimits) {
    self.archive = archive
    self.planner = planner
    self.limits = limits
    groups = archive.index.groups[...]
    cursor = IndexCursor(archive.index)
  }

  /// - Parameter claims: whether the members' places are taken; without it nothing is refused.
  /// - Throws: `exhausted` when there is too much content.
  mutating func next(claims: Bool) throws(BatchError) -> SegmentPlan? {
    while let group = groups.popFirst() {
      try archive.file.cancellation.check()
      var choices = [SegmentPlan.Choice]()
      let members = try cursor.slice(group.members)
      for number in group.members {
        let member = members[number]
        let isDirectory = member.kind == .directory
        guard planner.chooses(member.path, isDirectory: isDirectory) else { continue }
        plain += min(member.size, UInt64.max - plain)
        try limits.check(plain: plain, compressed: archive.file.size ?? 0)
        guard claims else {
          choices.append(SegmentPlan.Choice(number: number, refusal: nil))
          continue
        }
        do throws(BatchError) {
          guard try planner.claim(member.path, isDirectory: isDirectory) else { continue }
          choices.append(SegmentPlan.Choice(number: number, refusal: nil))
        } catch {
          choices.append(SegmentPlan.Choice(number: number, refusal: error))
        }
      }
      // Without patterns all of the archive is held against its index.
      if !choices.isEmpty || planner.takesEverything {
        return SegmentPlan(archive: archive, group: group, members: members, choices: choices)
      }
    }
    return nil
  }
}
