/// What one chunk came to: its output, and the problems it met, in the order of its items.
struct ChunkReport<Output: Sendable>: Sendable {
  let output: Output
  let problems: [MetProblem]
  /// Bytes that were kept in memory for it.
  var retained: Int64 = 0
}
