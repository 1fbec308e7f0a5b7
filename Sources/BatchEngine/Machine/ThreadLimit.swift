import Dispatch
import Glibc

/// How many more threads the process can have at once.
///
/// Dispatch waits forever for a thread that it cannot start, even for the queue that receives signals. So a run must not
/// request more threads than are available.
package enum ThreadLimit {
  /// Reads the limits of the machine, and tries the threads where the limits are near or unknown.
  ///
  /// - Parameter count: how many are enough.
  /// - Returns: how many can be started, `count` at most.
  package static func available(upTo count: Int) -> Int {
    ThreadRoom().holds(count) ? count : startable(upTo: count)
  }

  /// Starts threads, lets them wait until all have started, and ends them.
  ///
  /// - Parameter count: how many are enough.
  /// - Returns: how many could be started, `count` at most.
  static func startable(upTo count: Int) -> Int {
    let gate = DispatchSemaphore(value: 0)
    var threads: [pthread_t] = []
    while threads.count < count {
      var thread = pthread_t()
      let argument = Unmanaged.passRetained(gate)
      let failed = pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          Unmanaged<DispatchSemaphore>.fromOpaque(argument).takeRetainedValue().wait()
          return nil
        }, argument.toOpaque())
      guard failed == 0 else {
        argument.release()
        break
      }
      threads.append(thread)
    }
    for _ in threads { gate.signal() }
    for thread in threads { pthread_join(thread, nil) }
    return threads.count
  }
}
