@testable import BatchCore
@testable import BatchEngine

extension BatchRunner {
  /// A runner with a context of its own.
  init(
    options: BatchOptions = BatchOptions(), cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil, calls: any FileSystemCalls = LinuxCalls()
  ) {
    self.init(RunContext(options: options, cancellation: cancellation, observer: observer, calls: calls))
  }

  func tree(_ operands: some Sequence<PathBytes>, options: WalkOptions = WalkOptions()) -> TreeSource {
    context.tree(operands, options: options)
  }
}

extension RunOutcome {
  var counts: Counters.Snapshot { summary.counts }
  var stopped: BatchError? { summary.stopped }
}

extension Workbench {
  /// One of a run of its own.
  convenience init(calls: any FileSystemCalls = LinuxCalls()) {
    self.init(run: RunContext(calls: calls))
  }
}

extension LanePool {
  convenience init(_ concurrency: ConcurrencyLimit = ConcurrencyLimit(.max)) {
    self.init(concurrency: concurrency, cancellation: Cancellation()) { Workbench() }
  }

  /// Runs `body` on a lane when one is free, then `completion`.
  func run(_ body: @escaping @Sendable (Workbench) -> Void, completion: @escaping @Sendable () -> Void) {
    ChunkOperation(itemCount: 1, isLarge: false, lanes: self, finished: completion, body: body)
      .start()
  }
}
