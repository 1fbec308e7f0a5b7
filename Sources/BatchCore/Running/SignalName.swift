import Glibc

/// The names of signals, for messages.
enum SignalName {
  private static let names: [Int32: String] = [
    SIGHUP: "HUP", SIGINT: "INT", SIGQUIT: "QUIT", SIGILL: "ILL", SIGTRAP: "TRAP", SIGABRT: "ABRT",
    SIGBUS: "BUS",
    SIGFPE: "FPE", SIGKILL: "KILL", SIGUSR1: "USR1", SIGSEGV: "SEGV", SIGUSR2: "USR2", SIGPIPE: "PIPE",
    SIGALRM: "ALRM", SIGTERM: "TERM", SIGXCPU: "XCPU", SIGXFSZ: "XFSZ", SIGSYS: "SYS",
  ]

  /// `signal 11 (SEGV)`
  static func text(_ number: Int32) -> String {
    "signal \(number)" + (names[number].map { " (\($0))" } ?? "")
  }
}
