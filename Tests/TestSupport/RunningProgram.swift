import BatchEngine
import CSpawn
import Foundation
import Glibc
import Testing

/// A program that was started in a separate process group. Its streams are files, so that no pipe can fill
/// up. It does not inherit the signal dispositions and the descriptors of the test runner.
package final class RunningProgram {
  private let pid: pid_t
  private let streams: Streams
  private let command: String
  private var isWaitedFor = false

  /// Seconds after which a program counts as hung. The limit is many times as long as any program takes,
  /// since the machine may be slow or busy.
  package static let deadline = 240.0

  /// - Parameters:
  ///   - arguments: the program, which is searched in `PATH`, and its arguments; any bytes.
  ///   - input: the bytes on standard input.
  ///   - environment: the whole environment except `PATH`.
  package init(
    _ arguments: [[UInt8]], input: [UInt8] = [], environment: [String: String] = [:], in folder: PathBytes
  ) throws {
    streams = try Streams(input: input)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let sinks = O_WRONLY | O_CREAT | O_APPEND
    // Without input, standard input is `/dev/null`, as under cron. An empty regular file would count as
    // input.
    posix_spawn_file_actions_addopen(&actions, 0, input.isEmpty ? "/dev/null" : streams.input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, streams.output, sinks, 0o644)
    posix_spawn_file_actions_addopen(&actions, 2, streams.errors, sinks, 0o644)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    _ = folder.withCString { posix_spawn_file_actions_addchdir_np(&actions, $0) }

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
    var child: pid_t = 0
    let failed = Self.withCStrings(arguments) { argv in
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

  package func signal(_ number: Int32) { kill(pid, number) }

  /// Whether the program has installed its signal handlers.
  ///
  /// Before that, a signal has its default action.
  package var handlesSignals: Bool { signals("SigCgt:") & Self.bit(SIGINT) != 0 }

  /// A set of signals from proc(5); empty when the process has ended.
  private func signals(_ field: String) -> UInt64 {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(field) } ?? ""
    return UInt64(line.drop { $0 != "\t" }.dropFirst(), radix: 16) ?? 0
  }

  private static func bit(_ number: Int32) -> UInt64 { 1 << UInt64(number - 1) }

  /// Whether the program has ended. It stays a zombie until `wait`, so that its process group number is not
  /// reused.
  package var hasEnded: Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0
      && information.si_signo == SIGCHLD
  }

  /// The bytes on standard output so far, and on standard error.
  package var outputSoFar: [UInt8] { Streams.content(streams.output) }
  package var errorsSoFar: [UInt8] { Streams.content(streams.errors) }

  /// Waits for the end. At the deadline the whole process group is killed and the test fails.
  package func wait(seconds: Double = RunningProgram.deadline) -> Outcome {
    isWaitedFor = true
    let isEnded = eventually(within: seconds) { hasEnded }
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) == -1, errno == EINTR {}
    if !isEnded { Issue.record("not ended after \(seconds) s: \(command.prefix(300))") }
    let number = status & 0x7f
    return Outcome(
      ending: !isEnded ? .deadline : number == 0 ? .exit((status >> 8) & 0xff) : .signal(number),
      output: outputSoFar, errors: errorsSoFar)
  }

  private static func withCStrings<Result>(
    _ strings: [[UInt8]], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { PathBytes($0).withCString { strdup($0) } }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
  }
}

/// The files that serve as the streams of a program.
private final class Streams {
  private let folder: String

  init(input: [UInt8]) throws {
    var template = Array((Place.memory.folder.description + "/batchproc-streams-XXXXXX").utf8CString)
    try #require(mkdtemp(&template) != nil)
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Programs of other users reopen their streams by name.
    chmod(folder, 0o755)
    let file = open(folder + "/in", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    try #require(file >= 0)
    defer { close(file) }
    var rest = input[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      try #require(count > 0)
      rest = rest.dropFirst(count)
    }
  }

  deinit {
    for file in [input, output, errors] { unlink(file) }
    rmdir(folder)
  }

  var input: String { folder + "/in" }
  var output: String { folder + "/out" }
  var errors: String { folder + "/err" }

  static func content(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
      while count < buffer.count {
        let piece = pread(file, buffer.baseAddress?.advanced(by: count), buffer.count - count, count)
        guard piece > 0 else { return }
        count += piece
      }
    }
  }
}

/// Checks a condition repeatedly until it holds.
///
/// - Returns: whether it held before the deadline.
package func eventually(within seconds: Double = 30, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(seconds)
  var pause: UInt32 = 100
  while try !condition() {
    guard ContinuousClock.now < deadline else { return false }
    usleep(pause)
    pause = min(pause * 2, 2_000)
  }
  return true
}
