import BatchEngine

extension CountingWalk {
  /// An operation over operands, none of which is counted as taken.
  static func operation(
    _ operands: Operands, options: WalkOptions, run: RunContext
  ) -> ResultOperation<Counters.Snapshot> {
    operation(options: options, run: run) { operands.uncounted }
  }
}
