/// How the process ends.
enum Ending: Equatable {
  case exit(ExitStatus)
  /// By the default action of a signal, so that the parent sees it.
  case signal(Int32)

  /// Whether this ending takes precedence over another status.
  func isWorse(than status: ExitStatus) -> Bool {
    guard case .exit(let own) = self else { return true }
    let order: [ExitStatus] = [
      .usage, .locked, .fatal, .outputIncomplete, .differences, .someFailed, .budgetReached,
    ]
    guard let place = order.firstIndex(of: own), let other = order.firstIndex(of: status) else {
      return false
    }
    return place < other
  }

  /// The exit status as a shell reports it.
  var status: Int32 {
    switch self {
    case .exit(let status): status.rawValue
    case .signal(let number): 128 + number
    }
  }
}
