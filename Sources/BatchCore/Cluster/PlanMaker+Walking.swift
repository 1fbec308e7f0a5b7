import BatchEngine

/// What a walk for a plan met.
package struct PlanTally: Sendable {
  package var items = 0
  package var problems = 0
  /// Operands that are not there.
  package var missing = 0
  package var filtered = 0
  package var bytes: Int64 = 0

  package init() {}

  mutating func count(_ item: WalkItem, bytes size: Int64) {
    items += 1
    bytes += min(max(0, size), .max - bytes)
    guard case .problem(let problem) = item else { return }
    problems += 1
    if problem.event == .missing { missing += 1 }
  }
}

extension PlanMaker {
  /// Takes all files of a tree.
  ///
  /// - Parameter joinsNames: whether all names of a file go to the shard of the first one.
  /// - Throws: why the run was stopped, or the error of writing.
  package func walk(
    _ tree: consuming sending TreeSource, joinsNames: Bool, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var tree = tree
    while let item = tree.next() {
      try cancellation.check()
      let weight = tree.weight(of: item)
      tally.count(item, bytes: weight)
      let measure = ItemMeasure(weight: weight)
      if joinsNames {
        try addToFirst(item, listed: tree.folderStatus, measure: measure, bytes: weight)
      } else {
        try add(item, listed: tree.folderStatus, measure: measure, bytes: weight)
      }
    }
    tally.filtered = tree.filteredCount
    return tally
  }

  /// Takes all that becomes a member of an archive.
  ///
  /// - Throws: as ``walk(_:_:)-(TreeSource,_)``.
  package func walk(
    _ archive: consuming sending ArchiveSource, _ cancellation: Cancellation
  ) throws(BatchError) -> PlanTally {
    var tally = PlanTally()
    var archive = archive
    while let walked = archive.walk() {
      try cancellation.check()
      let item = archive.item(for: walked)
      var (first, bytes) = (PathBytes?.none, Int64(0))
      switch item {
      case .link(_, let path): first = path
      case .member(let record, _): bytes = ArchiveItem.storedSize(of: record)
      case .header(let member): bytes = Int64(clamping: member.storedSize)
      case .block, .problem: break
      }
      tally.count(walked, bytes: bytes)
      try add(
        walked, listed: archive.folderStatus, first: first,
        measure: ItemMeasure(weight: archive.weight(of: item)), bytes: bytes)
    }
    tally.filtered = archive.filteredCount
    return tally
  }
}
