/// How the process ends.
enum Ending: Equatable {
  case exit(ExitStatus)
  /// By the default action of a signal, so that the parent sees it.
  case signal(Int32)

  /// As a shell tells it.
  var status: Int32 {
    switch self {
    case .exit(let status): status.rawValue
    case .signal(let number): 128 + number
    }
  }
}
