/// What one chunk came to: its output, and the problems it met, in the order of its items.
struct ChunkReport<Output: Sendable>: Sendable {
  package let output: Output
  package let problems: [MetProblem]
  /// Bytes that were kept in memory for it.
  package var retained: Int64 = 0
}
