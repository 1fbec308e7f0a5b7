import BatchCore
import BatchEngine

/// The exit status of the process, with the same meanings for every command.
enum ExitStatus: Int32, Sendable, CaseIterable {
  case success = 0
  case fatal = 1
  case someFailed = 3
  case differences = 4
  case outputIncomplete = 5
  case locked = 11
  case budgetReached = 20
  case usage = 64
  case interrupted = 130
  case terminated = 143

  /// The sentence that help and manual print beside the code.
  var meaning: String {
    switch self {
    case .success: "Everything was done."
    case .fatal: "Fatal: nothing usable was produced."
    case .someFailed:
      """
      Finished, but some inputs could not be processed; each one is named on standard error (of a failing \
      device the first 20, then the count).
      """
    case .differences: "Verification found differences."
    case .outputIncomplete: "An output is incomplete: no space, write error, missing part."
    case .locked: "Another run holds the lock."
    case .budgetReached: "A time or byte budget was reached; run again to continue."
    case .usage: "Wrong usage."
    case .interrupted: "Stopped by SIGINT; the process re-raises the signal."
    case .terminated: "Stopped by SIGTERM or SIGHUP; the process re-raises SIGTERM."
    }
  }

  /// The status of a run that reached its end: the first that applies in this order.
  init(_ verdict: CallVerdict) {
    let order: [(CallVerdict, ExitStatus)] = [
      (.nothing, .fatal), (.incomplete, .outputIncomplete), (.differences, .differences),
      (.someFailed, .someFailed), (.budgetReached, .budgetReached),
    ]
    self = order.first { verdict.contains($0.0) }?.1 ?? .success
  }

  /// The status of a run that an error ends.
  init(_ error: BatchError) {
    self =
      switch error.code {
      case .unwritable: .outputIncomplete
      case .locked: .locked
      case .ambiguous, .untrusted, .refused: .usage
      default: .fatal
      }
  }
}
