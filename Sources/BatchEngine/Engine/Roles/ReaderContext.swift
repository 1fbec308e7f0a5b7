/// What a reader may do in a run: read, decode, count bytes, and yield items, rows and problems.
///
/// It cannot name or remove files. It is valid only during the call of ``BatchReader/read(in:)``.
package final class ReaderContext<Item: MeasuredItem, Row: MeasuredItem> {
  /// Lets the reader read and decode.
  package let reading = ReadingRight()
  private let run: RunContext
  private let probe: LaneProbe
  private var planner: ChunkPlanner<Item, Row>
  private let handOver: (PlannedChunk<Item, Row>) throws(BatchError) -> Void

  /// - Parameter handOver: receives one chunk after the other; an error that it throws ends the reading.
  init(_ run: RunContext, _ handOver: @escaping (PlannedChunk<Item, Row>) throws(BatchError) -> Void) {
    self.run = run
    self.handOver = handOver
    probe = LaneProbe(run.cancellation)
    planner = ChunkPlanner(stride: run.options.stride)
  }

  /// The context for files that the reader opens.
  package var source: SourceContext { SourceContext(run) }

  /// Waits while the run is suspended. Called between two pieces of the input.
  ///
  /// - Throws: the reason, when the run is to stop or its collector takes no more.
  package func checkCancellation() throws(BatchError) {
    try probe.check()
    if run.isEnded { throw BatchError(.cancelled, "the run takes no more items") }
  }

  /// Counts bytes that were read; a negative number subtracts bytes that turned out to be damaged.
  package func count(bytes: Int) { run.counters.addBytes(bytes) }

  /// Passes on an item, row or problem; waits while the workers have enough.
  ///
  /// - Throws: as ``checkCancellation()``.
  package func yield(_ yielded: Yielded<Item, Row>) throws(BatchError) {
    try checkCancellation()
    guard let chunk = planner.add(yielded, yielded.measure) else { return }
    try handOver(chunk)
    if let large = planner.takeLarge() { try handOver(large) }
  }

  func finish() throws(BatchError) {
    if let rest = planner.takeRest() { try handOver(rest) }
  }
}
