import BatchEngine

extension CountingWalk {
  /// An operation that walks the operands without counting them as taken.
  static func operation(
    _ operands: Operands, options: WalkOptions, run: RunContext
  ) -> ResultOperation<Counters.Snapshot> {
    operation(options: options, run: run) { operands.uncounted }
  }
}
