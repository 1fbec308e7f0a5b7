import Synchronization

/// A place where a number of threads wait until all of them are there.
final class Rendezvous: Sendable {
  private let missing: Mutex<Int>
  private let gate = Gate()

  init(_ count: Int) {
    missing = Mutex(count)
  }

  /// Returns when as many have come as the rendezvous was made for; later comers pass.
  func arrive() {
    let isLast = missing.withLock { missing in
      missing -= 1
      return missing <= 0
    }
    if isLast { gate.open() }
    gate.pass()
  }
}
