import Synchronization

/// Lets a number of threads wait until all of them have arrived.
package final class Rendezvous: Sendable {
  private let missing: Mutex<Int>
  private let gate = Gate()

  package init(_ count: Int) {
    missing = Mutex(count)
  }

  /// Returns when the expected number of threads has arrived; later threads pass at once.
  package func arrive() {
    let isLast = missing.withLock { missing in
      missing -= 1
      return missing <= 0
    }
    if isLast { gate.open() }
    gate.pass()
  }
}
