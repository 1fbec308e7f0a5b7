import Dispatch
import Glibc

/// How many more threads the process can have at once.
///
/// Dispatch waits forever for a thread that it cannot start, even for the queue that receives signals. So a run must not
/// request more threads than are available.
package enum ThreadLimit {
  /// Starts threads, lets them wait until all have started, and ends them.
  ///
  /// - Parameter count: how many are enough.
  /// - Returns: how many could be started, `count` at most.
  package static func available(upTo count: Int) -> Int {
    let gate = DispatchSemaphore(value: 0)
    var threads: [pthread_t] = []
    let body = AddressSpace.isLimited ? allocatingBody : waitingBody
    while threads.count < count {
      var thread = pthread_t()
      let argument = Unmanaged.passRetained(gate)
      let failed = pthread_create(&thread, nil, body, argument.toOpaque())
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

  private typealias Body = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?

  private static let waitingBody: Body = { argument in
    guard let argument else { return nil }
    Unmanaged<DispatchSemaphore>.fromOpaque(argument).takeRetainedValue().wait()
    return nil
  }

  /// The first allocation of a thread takes address space in addition to its stack. It takes time too, so it is made only where
  /// it could fail.
  private static let allocatingBody: Body = { argument in
    let memory = malloc(1 << 10)
    defer { free(memory) }
    return waitingBody(argument)
  }
}
