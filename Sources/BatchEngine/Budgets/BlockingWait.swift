import Dispatch

/// A wait for something that other operations hold, such as a token.
package enum BlockingWait {
  // A key is only an address, so it is safe to share; its type does not declare that.
  private nonisolated(unsafe) static let key = DispatchSpecificKey<(() -> Void) -> Void>()

  /// Makes each wait of code on a queue run inside of `around`, which must call the closure that it gets.
  static func surround(on queue: DispatchQueue, by around: @escaping (() -> Void) -> Void) {
    queue.setSpecific(key: key, value: around)
  }

  /// Runs `wait`, which blocks. If this is called on a lane, other lanes may continue during the wait.
  package static func run(_ wait: () -> Void) {
    guard let around = DispatchQueue.getSpecific(key: key) else { return wait() }
    around(wait)
  }
}
