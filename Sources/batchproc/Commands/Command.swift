import BatchCore
import BatchEngine

/// A command that processes files.
protocol Command {
  var session: Session { get }

  /// - Throws: an error before the run begins.
  func run() throws(BatchError) -> Ending
}

extension Command {
  var common: CommonOptions { session.common }

  /// Runs the command; a signal before the run begins ends it like a later one.
  func execute() -> Ending {
    defer { session.reporter.end(session.context.counters.snapshot) }
    do throws(BatchError) {
      return session.report(try run())
    } catch {
      if error.code == .cancelled, let ending = session.endingBySignal { return session.report(ending) }
      return session.report(session.ending(after: error))
    }
  }
}
