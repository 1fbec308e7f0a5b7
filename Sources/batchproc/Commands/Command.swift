import BatchCore
import BatchEngine

/// A command that processes files.
protocol Command {
  var session: Session { get }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending
}

extension Command {
  /// Runs the command; a signal that comes before the run begins ends it as one that comes later.
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
