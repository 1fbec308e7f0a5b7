/// A problem that was met while a chunk was processed.
struct MetProblem: Sendable {
  let problem: Problem
  let severity: Severity
  /// How many results of the chunk belong before it.
  let position: Int
}
