import TestSupport

@testable import BatchCore
@testable import BatchEngine

/// Records the problems that a run reports.
final class ProblemRecorder: RunObserver {
  let lines = Recorder<String>()

  func met(_ problem: Problem, severity: Severity) {
    let name = problem.error.path.map { PathBytes($0.lastComponent).description } ?? ""
    lines.record("\(severity.rawValue) \(problem.event.rawValue) \(name)")
  }
}
