import Dispatch

/// Blocks all threads until it is opened; then all threads pass.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open() { semaphore.signal() }

  package func pass() {
    semaphore.wait()
    semaphore.signal()
  }
}
