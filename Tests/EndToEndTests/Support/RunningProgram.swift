import BatchCore
import BatchEngine
import Foundation
import Glibc
import Testing

/// A program that was started in a process group of its own, with files for its streams so that no pipe can
/// fill up, and without the signal dispositions of the test runner.
final class RunningProgram {
  private let pid: pid_t
  private let streams: TreeFixture
  private let command: String
  private var isWaitedFor = false

  /// - Parameters:
  ///   - arguments: the program, looked up in `PATH`, and what it is given; any bytes.
  ///   - input: what stands on standard input.
  ///   - environment: all of it, `PATH` apart.
  init(
    _ arguments: [[UInt8]], input: [UInt8] = [], environment: [String: String] = [:], in folder: [UInt8]
  ) throws {
    streams = try TreeFixture()
    try streams.write("in", input)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let sinks = O_WRONLY | O_CREAT | O_APPEND
    posix_spawn_file_actions_addopen(&actions, 0, streams.path + "/in", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, streams.path + "/out", sinks, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, streams.path + "/err", sinks, 0o644)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGUSR1, SIGXFSZ] {
      sigaddset(&signals, number)
    }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let path = "PATH=" + (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")
    let variables = [Array(path.utf8)] + environment.map { Array("\($0.key)=\($0.value)".utf8) }
    let inFolder = ["bash", "-c", Self.start, "bash"].map { Array($0.utf8) } + [folder]
    var child: pid_t = 0
    let failed = Self.withCStrings(inFolder + arguments) { argv in
      Self.withCStrings(variables) { envp in
        argv[0].map { posix_spawnp(&child, $0, &actions, &attributes, argv, envp) } ?? EINVAL
      }
    }
    command = arguments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    try #require(failed == 0, "\(command): \(String(cString: strerror(failed)))")
    pid = child
  }

  deinit {
    guard !isWaitedFor else { return }
    kill(-pid, SIGKILL)
    waitpid(pid, nil, 0)
  }

  /// Goes to the folder, closes what the test runner left open, and becomes the program.
  private static let start = """
    cd "$1" && shift
    for f in /proc/self/fd/*; do [ ${f##*/} -le 2 ] || eval "exec ${f##*/}>&-"; done
    exec "$@"
    """

  func signal(_ number: Int32) { kill(pid, number) }

  /// Whether the program has set itself up so far that it handles signals.
  ///
  /// Only then is anything but an end by default to be expected of a signal.
  var handlesSignals: Bool { signals("SigCgt:") & Self.bit(SIGINT) != 0 }

  /// A set of signals from proc(5); empty when the process has gone.
  private func signals(_ field: String) -> UInt64 {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(field) } ?? ""
    return UInt64(line.drop { $0 != "\t" }.dropFirst(), radix: 16) ?? 0
  }

  private static func bit(_ number: Int32) -> UInt64 { 1 << UInt64(number - 1) }

  /// Whether the program has ended. It stays a zombie for now, so that its group cannot be somebody else's.
  var hasEnded: Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0
      && information.si_signo == SIGCHLD
  }

  /// What has come on standard error so far.
  var errorsSoFar: [UInt8] { streams.read("err") ?? [] }

  /// Waits for the end; at the deadline its whole group is killed and the test fails.
  func wait(seconds: Double = 60) -> Outcome {
    isWaitedFor = true
    let isEnded = eventually(within: seconds) { hasEnded }
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    if !isEnded { Issue.record("not ended after \(seconds) s: \(command.prefix(300))") }
    let number = status & 0x7f
    return Outcome(
      ending: !isEnded ? .deadline : number == 0 ? .exit((status >> 8) & 0xff) : .signal(number),
      output: streams.read("out") ?? [], errors: streams.read("err") ?? [])
  }

  private static func withCString<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<CChar>) -> Result)
    -> Result
  {
    (bytes + [0]).map { CChar(bitPattern: $0) }.withUnsafeBufferPointer { buffer in
      guard let base = buffer.baseAddress else { preconditionFailure("holds its end at least") }
      return body(base)
    }
  }

  private static func withCStrings<Result>(
    _ strings: [[UInt8]], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { withCString($0) { strdup($0) } }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
  }
}

/// Looks again and again until a condition holds.
///
/// - Returns: whether it came to hold before the deadline.
func eventually(within seconds: Double = 30, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while try !condition() {
    guard ContinuousClock.now < deadline else { return false }
    usleep(1000)
  }
  return true
}
