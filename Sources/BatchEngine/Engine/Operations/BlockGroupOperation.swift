import Dispatch
import Foundation
import Synchronization

/// An operation of several blocks, which is finished when all of them are.
///
/// The blocks run in parallel, and no thread waits for them: a dispatch group reports the end of the last one. Foundation's
/// `BlockOperation` runs its execution blocks one after the other. Blocks that have not begun when the operation is cancelled
/// do not begin.
package final class BlockGroupOperation: AsynchronousOperation, @unchecked Sendable {
  private let blocks: [@Sendable () -> Void]
  private let completion = Mutex<DispatchGroup?>(nil)
  private let group = DispatchGroup()
  private let queue = DispatchQueue(label: "batchproc.blocks", attributes: .concurrent)

  package init(_ blocks: [@Sendable () -> Void]) {
    self.blocks = blocks
  }

  override package func execute() {
    for block in blocks {
      queue.async(group: group) { [weak self] in
        if let self, !isCancelled { block() }
      }
    }
    // The closure keeps the operation alive until then.
    group.notify(queue: queue) { self.finish() }
  }

  /// Starts the blocks without an operation queue.
  ///
  /// - Returns: a group to wait for, which is left when all blocks are done.
  package func started() -> DispatchGroup {
    let ended = DispatchGroup()
    ended.enter()
    completion.withLock { $0 = ended }
    start()
    return ended
  }

  override package func didFinish() { completion.withLock { $0 }?.leave() }
}
