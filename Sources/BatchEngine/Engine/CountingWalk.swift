import Dispatch
import Foundation

/// Counts the work of a run while it runs, so that the remaining time can be estimated.
package enum CountingWalk {
  /// Counts that are known without a walk.
  package static func known(_ items: Int, bytes: UInt64) -> ResultOperation<Counters.Snapshot> {
    ResultOperation { _ in
      var total = Counters.Snapshot()
      total.seen = items
      total.byteCount = Int64(clamping: bytes)
      return total
    }
  }

  /// An operation that is not started yet; it stops early if the operation or the run is cancelled.
  ///
  /// - Parameters:
  ///   - paths: the operands of the run.
  package static func operation(
    options: WalkOptions, run: RunContext,
    of paths: @escaping @Sendable () -> AnyIterator<PathBytes>
  ) -> ResultOperation<Counters.Snapshot> {
    ResultOperation(on: DispatchQueue(label: "batchproc.count")) { operation in
      var source = run.tree(paths(), options: options)
      var total = Counters.Snapshot()
      while !operation.isCancelled, !run.cancellation.isCancelled, let found = source.next() {
        total.seen += 1
        total.byteCount.addClamped(source.weight(of: found))
      }
      total.seen += source.filteredCount
      return total
    }
  }
}
