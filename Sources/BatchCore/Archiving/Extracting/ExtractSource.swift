import BatchEngine

/// The members of an archive as items for the lanes: whole segments of one that has an index, else member by
/// member.
public struct ExtractSource: BatchSource {
  private enum Way {
    case segments(SegmentPlanner)
    case members(MemberFeed)
  }

  /// In bytes: as what an open file that waits counts, which bounds how many wait.
  private static let weightOfOpenFile: Int64 = 16 << 20

  private let extraction: Extraction
  private var way: Way
  private var isAtEnd = false

  /// - Throws: `malformed` when the file is no archive.
  public init(_ extraction: Extraction) throws(BatchError) {
    self.extraction = extraction
    let finding = try IndexedArchive.find(
      in: extraction.archive, checks: extraction.options.keepsGoing, memory: extraction.options.memory)
    switch finding {
    case .found(let archive, let remarks):
      extraction.add(remarks: remarks)
      way = .segments(
        try SegmentPlanner(
          archive, planner: extraction.planner, limits: extraction.options.limits, claims: true))
    case .damaged(let error, _), .tooLarge(let error, _):
      extraction.add(remarks: [error.message])
      way = .members(try MemberFeed(extraction, upTo: finding.end))
    case .none:
      way = .members(try MemberFeed(extraction, upTo: nil))
    }
  }

  public mutating func next() throws(BatchError) -> ExtractionItem? {
    guard !isAtEnd, !extraction.isCutShort else { return nil }
    do throws(BatchError) {
      switch way {
      case .members(let feed):
        if let item = try feed.next() { return item }
      case .segments(var planner):
        let plan = try planner.next()
        way = .segments(planner)
        if let plan { return ExtractionItem(step: .segment(plan)) }
      }
      isAtEnd = true
      return nil
    } catch {
      isAtEnd = true
      try extraction.archive.cancellation.check()
      extraction.endEarly()
      return ExtractionItem(step: .problem(error))
    }
  }

  public func weight(of item: ExtractionItem) -> Int64 {
    switch item.step {
    case .member(_, let bytes): Int64(bytes.count)
    case .segment(let plan): plan.archive.index.weight(of: plan.group)
    // Chunks of their own, so that few of the open files wait at once.
    case .staged: 1 << 40
    case .settled, .lost, .problem, .passed: 0
    }
  }

  public func count(of item: ExtractionItem) -> Int {
    if case .segment(let plan) = item.step { plan.choices.count } else { 1 }
  }

  public func retained(by item: ExtractionItem) -> Int64 {
    switch item.step {
    case .member(_, let bytes): Int64(bytes.count) + 512
    case .segment(let plan): Int64(plan.choices.count * 64 + plan.members.memory)
    case .staged: Self.weightOfOpenFile
    case .settled, .lost, .problem, .passed: 512
    }
  }
}
