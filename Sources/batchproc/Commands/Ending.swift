/// How the process ends.
enum Ending: Equatable {
  case exit(ExitStatus)
  /// By the default action of a signal, so that the parent sees it.
  case signal(Int32)
}
