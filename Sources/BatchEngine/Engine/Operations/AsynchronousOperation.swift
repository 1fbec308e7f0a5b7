import Foundation
import Synchronization

/// An operation that still runs after `start` has returned, until it calls ``finish()``.
///
/// It follows the rules on which the queue relies: it finishes even if it was cancelled before it began, and it notifies the
/// queue after its state has changed, outside the lock.
package class AsynchronousOperation: Operation, @unchecked Sendable {
  private enum Phase {
    case ready, executing, finished
  }

  private let phase = Mutex(Phase.ready)

  override package final var isAsynchronous: Bool { true }
  override package final var isExecuting: Bool { phase.withLock { $0 == .executing } }
  override package final var isFinished: Bool { phase.withLock { $0 == .finished } }

  /// Begins the work; called by the queue. A second call does nothing.
  override package final func start() {
    if begin() { run(execute) }
  }

  /// Begins the work by hand, outside any queue.
  ///
  /// - Throws: `invalid` when a dependency is not finished, a queue has the operation, or it has been started before.
  package final func startByHand() throws(BatchError) {
    guard !isInQueue else {
      throw BatchError(.invalid, "an operation cannot be started by hand while a queue has it")
    }
    try startByHand(doing: execute)
  }

  /// Begins other work than ``execute()`` by hand, outside any queue.
  ///
  /// - Parameter work: must call ``finish()`` once, as ``execute()`` does.
  package final func startByHand(doing work: () -> Void) throws(BatchError) {
    guard isReady || isCancelled else {
      throw BatchError(.invalid, "an operation cannot start before those it depends on are finished")
    }
    guard begin() else {
      throw BatchError(.invalid, "an operation can be started once only")
    }
    run(work)
  }

  /// The work. An override calls `finish()` once, at any later time, on any thread.
  func execute() {
    finish()
  }

  /// Called instead of ``execute()`` when the operation was cancelled before it began.
  func cancelledBeforeStart() {}

  /// Marks the operation as finished, which lets the queue go on. Calls after the first do nothing.
  package final func finish() {
    let ends = phase.withLock { phase in
      guard phase == .executing else { return false }
      phase = .finished
      return true
    }
    guard ends else { return }
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
    didFinish()
  }

  /// Called once on the thread that finished the operation, after the queue was notified. A completion block would need another
  /// thread.
  func didFinish() {}

  /// Whether the operation is in a queue; the queue's counts would be wrong if it were started by hand. Foundation keeps the
  /// queue in a private property.
  private var isInQueue: Bool {
    var mirror: Mirror? = Mirror(reflecting: self)
    while let current = mirror, current.subjectType != Operation.self { mirror = current.superclassMirror }
    return mirror?.children.contains { $0.value is Unmanaged<OperationQueue> } ?? false
  }

  /// Whether this call begins the operation; true for one call only.
  private func begin() -> Bool {
    phase.withLock { phase in
      guard phase == .ready else { return false }
      phase = .executing
      return true
    }
  }

  private func run(_ work: () -> Void) {
    didChangeValue(forKey: "isExecuting")
    if isCancelled {
      cancelledBeforeStart()
      finish()
    } else {
      work()
    }
  }
}
