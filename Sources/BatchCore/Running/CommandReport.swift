import BatchEngine
import BatchOutputs

/// The report of one child, or of a file for which none was needed; made in tree order.
package struct CommandReport: OutputReport {
  package enum Result: Sendable {
    /// The child succeeded, and there is no output.
    case ran
    /// The output, or the file that was changed in place, has its name; its size in bytes.
    case written(PathBytes, size: Int64, replacing: Replaced)
    /// The command left the copy of its source unchanged.
    case unchanged
    /// No child was needed.
    case upToDate
    /// A dry run found that a child would be started; with its output.
    case planned(PathBytes?)
    /// The child failed, or its output could not be used.
    case failed(BatchError)
  }

  /// What an output replaced.
  package enum Replaced: Sendable {
    case nothing
    /// An older output of this command, or any file if that was forced.
    case older
    /// An output of another command.
    case other
  }

  package let source: PathBytes
  /// How many files the child got.
  package var files = 1
  package let result: Result
  /// Nil if no child was started.
  package var child: RanChild?

  init(_ source: PathBytes, files: Int = 1, _ result: Result, child: RanChild? = nil) {
    (self.source, self.files, self.result, self.child) = (source, files, result, child)
  }

  package init(source: PathBytes, outcome: OutputOutcome) { self.init(source, .upToDate) }

  package var outcome: OutputOutcome {
    switch result {
    case .written(let target, let size, _): .written(target: target, plainSize: 0, compressedSize: size)
    case .planned(let target): .planned(target: target ?? source, size: 0)
    case .ran, .unchanged, .upToDate, .failed: .upToDate
    }
  }
}

/// A child that has ended.
package struct RanChild: Sendable {
  package let arguments: [PathBytes]
  package let ending: ChildEnding
  /// From 1; more if earlier tries failed.
  package let tries: Int
}

/// The number of files by result.
package struct RunCounts: Sendable {
  /// Files whose child succeeded.
  package private(set) var ran = 0
  /// Outputs that were written, and files that were changed in place.
  package private(set) var written = 0
  package private(set) var replaced = 0
  package private(set) var writtenBytes: Int64 = 0
  package private(set) var unchanged = 0
  package private(set) var upToDate = 0
  /// Files whose child failed.
  package private(set) var failed = 0

  package init() {}

  package mutating func add(_ report: CommandReport) {
    switch report.result {
    case .ran: ran += report.files
    case .written(_, let size, let replacing):
      ran += 1
      written += 1
      if replacing != .nothing { replaced += 1 }
      writtenBytes.addClamped(size)
    case .unchanged:
      ran += 1
      unchanged += 1
    case .upToDate: upToDate += 1
    case .planned: break
    case .failed: failed += report.files
    }
  }
}
