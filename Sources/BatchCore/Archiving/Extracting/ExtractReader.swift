import BatchEngine

/// Reads the members of an archive as items for the lanes: whole segments if it has an index, otherwise member by member.
package struct ExtractReader: BatchReader {
  private let archive: OpenArchive
  let planner: ExtractionPlanner
  let options: ExtractionOptions
  /// The members of an archive without an index.
  private let members: (any MemberReader)?

  /// - Parameters:
  ///   - selection: which members are extracted, and where.
  ///   - globs: the patterns of the selection, for messages.
  /// - Throws: `malformed` when the file is not an archive.
  package init(
    _ archive: ArchiveFile, selection: MemberSelection, globs: [PathBytes], options: ExtractionOptions,
    by right: ReadingRight
  ) throws(BatchError) {
    self.options = options
    let open = try OpenArchive(
      archive, checks: options.keepsGoing || selection.takesEverything, memory: options.memory, by: right)
    planner = ExtractionPlanner(
      try open.decided(selection, limits: options.limits), globs: globs, limits: options.pathLimits)
    self.archive = open
    members = open.index == nil ? try open.reader(limits: options.limits) : nil
  }

  var name: PathBytes { archive.file.path }

  /// The members and bytes to extract; nil without an index, or if only some members are selected.
  package var total: (members: Int, bytes: UInt64)? {
    planner.takesEverything ? archive.index?.index.total : nil
  }

  package func read(in context: ReaderContext<ExtractionItem>) throws(BatchError) {
    try read(in: context) { (item) throws(BatchError) in try context.yield(item) }
  }

  /// Reads the archive for another reader, which receives the items.
  ///
  /// - Parameter yield: passes each item on.
  func read(
    in context: ReaderContext<ExtractionItem>, yield: (ExtractionItem) throws(BatchError) -> Void
  ) throws(BatchError) {
    var hasNotedSlash = false
    func hand(_ step: ExtractionItem.Step) throws(BatchError) {
      if planner.strippedSlash, !hasNotedSlash {
        hasNotedSlash = true
        try yield(ExtractionItem(step: .note(.strippedSlash)))
      }
      try yield(ExtractionItem(step: step))
    }
    let damagedStart = archive.index?.damagedStart.map { [$0.message] } ?? []
    try hand(.note(.remarks(archive.remarks + damagedStart)))
    do throws(BatchError) {
      if let indexed = archive.index {
        var segments = try SegmentPlanner(indexed, planner: planner, limits: options.limits, claims: true)
        while let plan = try segments.next() { try hand(.segment(plan)) }
      } else if let members {
        try read(members, in: context, hand)
      }
      for error in planner.wrongGuesses { try hand(.problem(error)) }
      try hand(.note(.unmatched(planner.unmatched)))
    } catch {
      try context.checkCancellation()
      try hand(.problem(error))
      try hand(.note(.stop))
    }
  }
}

extension ExtractionItem: MeasuredItem {
  package var measure: ItemMeasure {
    switch step {
    case .member(let order, let bytes):
      ItemMeasure(
        weight: Int64(bytes.count), count: order.isOnWay ? 0 : 1, retained: Int64(bytes.count) + Self.ownSize)
    case .piece(let bytes, _):
      ItemMeasure(weight: Int64(bytes.count), count: 0, retained: Int64(bytes.count) + Self.ownSize)
    case .segment(let plan):
      ItemMeasure(
        weight: plan.archive.index.weight(of: plan.group), count: plan.choices.count - plan.countOnWay,
        retained: Int64(plan.choices.count * 64 + plan.members.memory))
    case .begin, .lost, .problem, .belowRefused, .passed: ItemMeasure(weight: 0, retained: Self.ownSize)
    case .end, .note: ItemMeasure(weight: 0, count: 0, retained: Self.ownSize)
    }
  }

  private static let ownSize: Int64 = 512
}
