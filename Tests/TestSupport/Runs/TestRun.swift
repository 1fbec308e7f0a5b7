import BatchEngine

extension BatchRunner {
  /// A runner with a new context.
  package init(
    options: BatchOptions = BatchOptions(), cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil, calls: any FileSystemCalls = LinuxCalls()
  ) {
    self.init(RunContext(options: options, cancellation: cancellation, observer: observer, calls: calls))
  }

  package func tree(_ operands: some Sequence<PathBytes>, options: WalkOptions = WalkOptions()) -> TreeSource
  {
    context.tree(operands, options: options)
  }
}

extension RunOutcome {
  package var counts: Counters.Snapshot { summary.counts }
  package var stopped: BatchError? { summary.stopped }
}
