import BatchEngine

/// A way to link a copy; belongs to the collector.
protocol CopyLinking: AnyObject {
  /// Links a copy in one step, or leaves it as it is.
  ///
  /// - Returns: why it was not linked; nil when it is linked.
  /// - Throws: `changed` when one of them has changed since the comparison, or the error of a call.
  func link(_ copy: DuplicateFile, to kept: KeptFile) throws(BatchError) -> LinkOutcome.Reason?
}

/// Links the files that lanes found equal, in the order of the groups, and counts.
package final class LinkCollector: BatchCollector {
  package struct Tally: Sendable {
    package init() {}

    package var linked = 0
    package var left = 0
    /// Bytes of the linked copies.
    package var bytes: Int64 = 0
  }

  private let linking: any CopyLinking
  private let isDryRun: Bool
  private let context: CollectorContext
  private let report: (LinkOutcome) throws(BatchError) -> Void
  private var tally = Tally()

  init(
    _ linking: any CopyLinking, isDryRun: Bool, _ context: CollectorContext,
    _ report: @escaping (LinkOutcome) throws(BatchError) -> Void
  ) {
    self.linking = linking
    self.isDryRun = isDryRun
    self.context = context
    self.report = report
  }

  package func collect(_ rows: [LinkRow]) throws(BatchError) {
    for row in rows {
      switch row {
      case .kept: context.counters.addDone()
      case .left(let copy, let kept, let reason): try tell(copy, kept, .left(reason))
      case .equal(let copy, let kept):
        try context.checkCancellation()
        do throws(BatchError) {
          let result = isDryRun ? nil : try linking.link(copy, to: kept)
          try tell(copy, kept.file, result.map { .left($0) } ?? (isDryRun ? .planned : .linked))
        } catch {
          if error.code == .cancelled || error.code == .closedOutput { throw error }
          context.report(Problem(error.path == nil ? error.at(copy.path) : error))
        }
      }
    }
  }

  package func finish() -> Tally { tally }

  private func tell(
    _ copy: DuplicateFile, _ kept: DuplicateFile, _ result: LinkOutcome.Result
  ) throws(BatchError) {
    context.counters.addDone()
    let size = copy.record.status.size
    if case .left = result {
      tally.left += 1
    } else {
      tally.linked += 1
      tally.bytes += min(size, .max - tally.bytes)
    }
    try report(LinkOutcome(copy: copy.path, kept: kept.path, size: size, result: result))
  }
}
