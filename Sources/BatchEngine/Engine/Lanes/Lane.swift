import Dispatch
import Synchronization

/// One serial queue that runs one operation at a time, with the buffers that belong to it.
///
/// A serial queue gets a thread immediately. A concurrent queue that needs more threads than cores gets only one more each second.
package final class Lane: Sendable {
  // A key is only an address, so it is safe to share; its type does not declare that.
  private nonisolated(unsafe) static let key = DispatchSpecificKey<Workbench>()

  let queue: DispatchQueue

  /// - Parameter number: nil for a helper queue beside the lanes.
  init(number: Int?, bench: Workbench) {
    queue = DispatchQueue(label: number.map { "batchproc.lane.\($0)" } ?? "batchproc.reader")
    // The queue owns the bench: it is freed with the queue.
    queue.setSpecific(key: Self.key, value: bench)
    // This lane may wait for tokens that a held-back lane has, so that lane may continue during the wait.
    BlockingWait.surround(on: queue) { wait in
      guard bench.turn != nil, let pool = bench.pool else { return wait() }
      pool.block()
      wait()
      pool.unblock()
    }
  }

  /// The bench of the lane that this code runs on; nil elsewhere.
  static var workbench: Workbench? { DispatchQueue.getSpecific(key: key) }
}
