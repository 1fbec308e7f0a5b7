/// The outcome of one chunk: its results, and the problems that arose between them.
struct ChunkReport<Output: ChunkOutput & Sendable>: Sendable {
  let output: Output
  /// Each with the number of results that belong before it.
  let problems: [(Problem, Severity, position: Int)]
  /// Empty if times of files are not needed.
  var times: [FileTime] = []
  /// Bytes that the chunk keeps in memory.
  var retained: Int64 = 0

  /// Delivers results and problems in the order in which they arose.
  func deliver(
    _ collect: (Output) throws(BatchError) -> Void, _ report: (Problem, Severity) -> Void
  ) throws(BatchError) {
    guard !problems.isEmpty else { return try collect(output) }
    var position = 0
    for (problem, severity, before) in problems {
      let next = min(max(before, position), output.count)
      if next > position { try collect(output.part(position..<next)) }
      position = next
      report(problem, severity)
    }
    if position < output.count { try collect(output.part(position..<output.count)) }
  }
}

extension OrderedSink {
  func submit<Item>(_ report: Value, of chunk: Chunk<Item>) {
    if chunk.isOrdered { submit(report, at: chunk.index) } else { submit(report) }
  }
}
