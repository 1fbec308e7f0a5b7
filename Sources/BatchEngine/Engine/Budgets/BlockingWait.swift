import Dispatch

/// A wait for something that other operations hold, such as a token.
package enum BlockingWait {
  // A key is an address and nothing else; Dispatch does not say so in its types.
  private nonisolated(unsafe) static let key = DispatchSpecificKey<(() -> Void) -> Void>()

  /// Lets code on a queue wait inside of `around`, which calls what it is given.
  static func surround(on queue: DispatchQueue, by around: @escaping (() -> Void) -> Void) {
    queue.setSpecific(key: key, value: around)
  }

  /// Waits; on a lane others may go on meanwhile.
  package static func run(_ wait: () -> Void) {
    guard let around = DispatchQueue.getSpecific(key: key) else { return wait() }
    around(wait)
  }
}
