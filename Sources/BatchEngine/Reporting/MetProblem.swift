/// A problem that occurred while a chunk was processed.
package struct MetProblem: Sendable {
  package let problem: Problem
  package let severity: Severity
  /// How many results of the chunk belong before it.
  package let position: Int
}
