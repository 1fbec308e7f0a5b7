import BatchEngine

/// Reads the members of an archive: whole segments for the lanes if it has an index, otherwise member by member.
package struct ExtractReader: BatchReader {
  package typealias Item = ExtractionItem
  package typealias Row = ExtractionRow

  let archive: OpenArchive
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

  package func read(in context: Context) throws(BatchError) {
    try read(in: context) { (step) throws(BatchError) in try context.yield(step) }
  }

  /// Reads the archive for another reader, which receives the items.
  ///
  /// - Parameter yield: passes each step on.
  func read(
    in context: Context, yield: (ExtractionStep) throws(BatchError) -> Void
  ) throws(BatchError) {
    var hasNotedSlash = false
    func hand(_ step: ExtractionStep) throws(BatchError) {
      if planner.strippedSlash, !hasNotedSlash {
        hasNotedSlash = true
        try yield(.note(.strippedSlash))
      }
      try yield(step)
    }
    let damagedStart = archive.index?.damagedStart.map { [$0.message] } ?? []
    try hand(.note(.remarks(archive.remarks + damagedStart)))
    do throws(BatchError) {
      if let indexed = archive.index {
        let lone = try archive.loneLinks(of: indexed, planner, limits: options.limits)
        var segments = try SegmentPlanner(
          indexed, planner: planner, limits: options.limits, claims: true, leavingOut: lone.numbers)
        while let plan = try segments.next() { try hand(.item(ExtractionItem(step: .segment(plan)))) }
        try extract(lone, in: context, hand)
      } else if let members {
        try read(members, in: context, hand)
      }
      for error in planner.wrongGuesses { try hand(.failed(error)) }
      try hand(.note(.unmatched(planner.unmatched)))
    } catch {
      try context.checkCancellation()
      try hand(.failed(error))
      // What cannot be read here is no damage, if a file can be read in another way.
      if error.code != .unsupported || archive.file.size == nil { try hand(.note(.stop)) }
    }
  }
}

extension ExtractionItem: MeasuredItem {
  package var measure: ItemMeasure {
    switch step {
    case .member(let order, let bytes):
      ItemMeasure(
        weight: Int64(bytes.count), count: order.isOnWay ? 0 : 1, retained: Int64(bytes.count) + Self.ownSize)
    case .segment(let plan):
      ItemMeasure(
        weight: plan.archive.index.weight(of: plan.group), count: plan.choices.count - plan.countOnWay,
        retained: Int64(plan.choices.count * 64 + plan.members.memory))
    case .lost: ItemMeasure(weight: 0, retained: Self.ownSize)
    case .joined(let file):
      ItemMeasure(
        weight: Int64(clamping: file.entry.size), retained: Self.ownSize + Int64(file.parts.count) * 256)
    }
  }

  fileprivate static let ownSize: Int64 = 512
}

extension ExtractionRow: MeasuredItem {
  package var measure: ItemMeasure {
    let ownSize = ExtractionItem.ownSize
    return switch row {
    case .piece(let bytes, _):
      ItemMeasure(weight: Int64(bytes.count), count: 0, retained: Int64(bytes.count) + ownSize)
    case .end, .note: ItemMeasure(weight: 0, count: 0, retained: ownSize)
    default: ItemMeasure(weight: 0, retained: ownSize)
    }
  }
}
