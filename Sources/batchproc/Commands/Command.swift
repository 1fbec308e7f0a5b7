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

  func execute() -> Ending {
    let ending: Ending
    do throws(BatchError) {
      ending = try run()
    } catch {
      ending = session.ending(after: error)
    }
    session.reporter.end(session.context.counters.snapshot)
    return session.report(session.ending(replacing: ending))
  }
}
