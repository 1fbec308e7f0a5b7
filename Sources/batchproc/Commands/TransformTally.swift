import BatchCore
import Synchronization

/// Counts what became of the sources of a run, and the failures that spoil an output.
final class TransformTally: RunObserver {
  struct Counts: Sendable {
    var written = 0
    var plainBytes: Int64 = 0
    var compressedBytes: Int64 = 0
    var upToDate = 0
    var compressedAlready = 0
    var notSmaller = 0
    var linked = 0
    var gaps = CheckGapCounts()
    /// Outputs that could not be written for want of space or by an error of the device.
    var spoilt = 0
  }

  private let reporter: any RunObserver
  private let counts = Mutex(Counts())

  init(_ reporter: any RunObserver) {
    self.reporter = reporter
  }

  var current: Counts { counts.withLock { $0 } }

  func met(_ problem: Problem, severity: Severity) {
    count(problem)
    reporter.met(problem, severity: severity)
  }

  func met(_ problem: Problem, severity: Severity, behind results: Int) {
    count(problem)
    reporter.met(problem, severity: severity, behind: results)
  }

  func collected() { reporter.collected() }

  private func count(_ problem: Problem) {
    if problem.error.code == .unwritable, problem.error.isOfOutput { counts.withLock { $0.spoilt += 1 } }
  }

  func add(_ report: TransformReport) {
    counts.withLock { counts in
      counts.gaps.add(report.checkGap)
      switch report.outcome {
      case .written(_, let plain, let compressed):
        counts.written += 1
        counts.plainBytes += plain
        counts.compressedBytes += compressed
      case .upToDate: counts.upToDate += 1
      case .compressedAlready: counts.compressedAlready += 1
      case .notSmaller: counts.notSmaller += 1
      case .linked: counts.linked += 1
      }
    }
  }
}
