import var Glibc.SIGABRT
import var Glibc.SIGALRM
import var Glibc.SIGBUS
import var Glibc.SIGFPE
import var Glibc.SIGHUP
import var Glibc.SIGILL
import var Glibc.SIGINT
import var Glibc.SIGKILL
import var Glibc.SIGPIPE
import var Glibc.SIGQUIT
import var Glibc.SIGSEGV
import var Glibc.SIGSYS
import var Glibc.SIGTERM
import var Glibc.SIGTRAP
import var Glibc.SIGUSR1
import var Glibc.SIGUSR2
import var Glibc.SIGXCPU
import var Glibc.SIGXFSZ

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
