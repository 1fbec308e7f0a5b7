import BatchEngine

/// Records the problems that a run reports.
package final class ProblemRecorder: RunObserver {
  package let lines = Recorder<String>()
  private let events: Recorder<String>?

  /// - Parameter events: a second recorder, which gets the lines between those of other reports.
  package init(events: Recorder<String>? = nil) { self.events = events }

  package func met(_ problem: Problem, severity: Severity) {
    let name = problem.error.path.map { PathBytes($0.lastComponent).description } ?? ""
    let line = "\(severity.rawValue) \(problem.event.rawValue) \(name)"
    lines.record(line)
    events?.record(line)
  }
}
