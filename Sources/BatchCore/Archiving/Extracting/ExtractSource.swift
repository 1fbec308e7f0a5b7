import BatchEngine

/// The members of an archive as items for the lanes: whole segments of one that has an index, else member by
/// member.
package struct ExtractSource: BatchSource {
  private enum Way {
    case segments(SegmentPlanner)
    case members(MemberFeed)
  }

  private let archive: ArchiveFile
  private let planner: ExtractionPlanner
  private var way: Way
  /// Items that come before the next step.
  private var pending: [ExtractionItem.Step] = []
  private var hasNotedSlash = false
  private var isAtEnd = false

  /// - Parameters:
  ///   - selection: which members are meant, and where they go.
  ///   - globs: the patterns of the selection, for messages.
  /// - Throws: `malformed` when the file is no archive.
  package init(
    _ archive: ArchiveFile, selection: MemberSelection, globs: [PathBytes], options: ExtractionOptions
  ) throws(BatchError) {
    self.archive = archive
    planner = ExtractionPlanner(selection, globs: globs, limits: options.pathLimits)
    let open = try OpenArchive(
      archive, checks: options.keepsGoing || selection.takesEverything, memory: options.memory,
      by: .memberFeed)
    let damagedStart = open.index?.damagedStart.map { [$0.message] } ?? []
    pending.append(.note(.remarks(open.remarks + damagedStart)))
    if let indexed = open.index {
      way = .segments(
        try SegmentPlanner(indexed, planner: planner, limits: options.limits, claims: true))
    } else {
      way = .members(try MemberFeed(open, planner, options))
    }
  }

  /// What there is to extract, where an index tells and all of it is meant.
  package var total: (members: Int, bytes: UInt64)? {
    guard case .segments(let segments) = way, planner.takesEverything else { return nil }
    return segments.archive.index.total
  }

  package mutating func next() throws(BatchError) -> ExtractionItem? {
    if !pending.isEmpty { return ExtractionItem(step: pending.removeFirst()) }
    guard !isAtEnd else { return nil }
    do throws(BatchError) {
      if let step = try nextStep() {
        pending.append(step)
      } else {
        isAtEnd = true
        pending.append(.note(.unmatched(planner.unmatched)))
      }
    } catch {
      isAtEnd = true
      try archive.cancellation.check()
      pending += [.problem(error), .note(.stop)]
    }
    if planner.strippedSlash, !hasNotedSlash {
      hasNotedSlash = true
      pending.insert(.note(.strippedSlash), at: 0)
    }
    return ExtractionItem(step: pending.removeFirst())
  }

  private mutating func nextStep() throws(BatchError) -> ExtractionItem.Step? {
    switch way {
    case .members(let feed): return try feed.next()
    case .segments(var planner):
      let plan = try planner.next()
      way = .segments(planner)
      return plan.map { .segment($0) }
    }
  }

  package func weight(of item: ExtractionItem) -> Int64 { item.weight }
  package func count(of item: ExtractionItem) -> Int { item.count }
  package func retained(by item: ExtractionItem) -> Int64 { item.retained }
}

extension ExtractionItem {
  /// In bytes, for the planner.
  var weight: Int64 {
    switch step {
    case .member(_, let bytes), .piece(let bytes, _): Int64(bytes.count)
    case .segment(let plan): plan.archive.index.weight(of: plan.group)
    case .begin, .end, .lost, .problem, .belowRefused, .passed, .note: 0
    }
  }

  /// How many members it stands for.
  var count: Int {
    switch step {
    case .segment(let plan): plan.choices.count
    case .member, .begin, .lost, .problem, .belowRefused, .passed: 1
    case .piece, .end, .note: 0
    }
  }

  /// Bytes that it keeps in memory.
  var retained: Int64 {
    switch step {
    case .member(_, let bytes), .piece(let bytes, _): Int64(bytes.count) + 512
    case .segment(let plan): Int64(plan.choices.count * 64 + plan.members.memory)
    case .begin, .end, .lost, .problem, .belowRefused, .passed, .note: 512
    }
  }
}
