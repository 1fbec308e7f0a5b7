import BatchCore
import BatchEngine
import Dispatch
import class Foundation.Operation

/// Counts the work of a run while it runs, so that the remaining time can be estimated.
enum CountingWalk {
  /// Counts that are known without a walk.
  static func known(_ items: Int, bytes: UInt64) -> ResultOperation<Counters.Snapshot> {
    ResultOperation { _ in
      var total = Counters.Snapshot()
      total.seen = items
      total.byteCount = Int64(clamping: bytes)
      return total
    }
  }

  /// An operation that is not started yet; it stops early when it is cancelled or the run is.
  static func operation(
    _ operands: Operands, options: WalkOptions, run: RunContext
  ) -> ResultOperation<Counters.Snapshot> {
    ResultOperation(on: DispatchQueue(label: "batchproc.count")) { operation in
      var source = run.tree(operands.uncounted, options: options)
      var total = Counters.Snapshot()
      while !operation.isCancelled, !run.cancellation.isCancelled, let item = source.next() {
        total.seen += 1
        total.byteCount += source.weight(of: item)
      }
      total.seen += source.filteredCount
      return total
    }
  }
}
