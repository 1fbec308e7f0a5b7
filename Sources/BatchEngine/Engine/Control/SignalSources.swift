import CLinux
import Dispatch
import Glibc

/// Turns signals into calls on one serial queue, for as long as the object lives.
package final class SignalSources: Sendable {
  private let queue = DispatchQueue(label: "batchproc.signals")
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

  /// - Parameters:
  ///   - numbers: the signals to handle. A signal that was ignored when the process began stays ignored, such as HUP under
  ///     `nohup`.
  ///   - handler: called with the number, one call at a time.
  package init(_ numbers: [Int32], handler: @escaping @Sendable (Int32) -> Void) {
    let queue = queue
    let installation = DispatchGroup()
    sources = numbers.filter { clinux_is_ignored($0) == 0 }.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { handler(number) }
      installation.enter()
      source.setRegistrationHandler { installation.leave() }
      source.resume()
      return source
    }
    // Until all handlers are installed, signals have their default action: the caller has begun nothing yet.
    guard installation.wait(timeout: .now() + 20) == .success else {
      // Without memory libdispatch drops a handler, and the signal would no longer end the process. Nothing has begun yet.
      fatalError("the handlers of signals were not installed")
    }
  }

  deinit {
    for source in sources { source.cancel() }
  }

  /// Ends the process by the default action of a signal, so that its parent sees which signal ended it.
  package static func reraise(_ number: Int32) {
    clinux_reraise(number)
  }

  /// Makes writes to a closed pipe, or beyond the file size limit, fail with an error instead of ending the process.
  package static func ignoreFailedWrites() {
    clinux_ignore_signal(SIGPIPE)
    clinux_ignore_signal(SIGXFSZ)
  }
}
