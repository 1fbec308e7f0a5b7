import Foundation

/// One child process: an asynchronous operation that executes without a thread, and is finished when the kernel has reported the
/// end of the process.
///
/// The thread of its runner starts it by hand, since the kernel kills the child when that thread ends. Only that thread uses its
/// variables.
package final class ChildOperation: AsynchronousOperation, @unchecked Sendable {
  let command: ChildCommand
  private let tag: Int
  private let ended: @Sendable (Result<ChildEnding, BatchError>) -> Void
  private let site: ChildSite
  /// The number for its events, a multiple of 4.
  private(set) var key: UInt64 = 0
  private(set) var process: ChildProcess?
  private(set) var refusal: BatchError?
  private var result: Result<ChildEnding, BatchError>?

  init(
    _ command: ChildCommand, tag: Int, at site: ChildSite,
    ended: @escaping @Sendable (Result<ChildEnding, BatchError>) -> Void
  ) {
    (self.command, self.tag, self.site, self.ended) = (command, tag, site, ended)
  }

  /// Starts the process; afterwards there is a ``process`` or a ``refusal``, or the operation was cancelled and is finished.
  func start(key: UInt64) {
    self.key = key
    if isExecuting { execute() } else { start() }
  }

  override func execute() {
    refusal = nil
    do throws(BatchError) {
      process = try .start(command, tag: tag, key: key, at: site)
    } catch {
      refusal = error
    }
  }

  override func cancelledBeforeStart() { result = .success(notRun) }

  /// Ends an operation that has no process, because the run has ended.
  func giveUp() {
    cancel()
    if isExecuting { end(.success(notRun)) } else { start() }
  }

  private var notRun: ChildEnding {
    ChildEnding(
      status: .stopped, output: CapturedOutput(site.captures), errors: CapturedOutput(site.captures))
  }

  func end(_ result: Result<ChildEnding, BatchError>) {
    self.result = result
    process = nil
    finish()
  }

  override func didFinish() {
    if let result { ended(result) }
    result = nil
  }
}
