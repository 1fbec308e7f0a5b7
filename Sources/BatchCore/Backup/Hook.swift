import BatchEngine
import func CLinux.clinux_pidfd_open
import func CLinux.clinux_spawn_shell
import func Glibc.kill
import func Glibc.poll
import func Glibc.usleep
import func Glibc.waitpid
import struct Glibc.pollfd
import var Glibc.POLLIN
import var Glibc.SIGKILL
import var Glibc.SIGTERM
import var Glibc.WNOHANG

/// A command of the user that runs before or after a backup: by `/bin/sh -c`, in its own process group, which is killed after
/// the time limit.
package struct Hook: Sendable {
  /// How a command ended.
  package enum Ending: Sendable, Hashable {
    case exit(Int32)
    case signal(Int32)
    /// Killed with its process group after the time limit.
    case timeout
  }

  /// Seconds between SIGTERM and SIGKILL.
  package static let grace = 5.0

  package let command: PathBytes
  /// The time limit in seconds.
  package let limit: Double

  package init(_ command: PathBytes, limit: Double) {
    self.command = command
    self.limit = limit
  }

  /// Runs the command, and waits for its end on the calling thread.
  ///
  /// - Parameters:
  ///   - environment: `NAME=value`, in addition to the variables of this process.
  ///   - input: its standard input. Its standard output is sent to standard error.
  ///   - isCancelled: asked about every 50 ms; the command and its process group are killed when it is true.
  /// - Throws: `cancelled` when it was killed for that reason; the error of starting a shell.
  package func run(
    environment: [PathBytes] = [], input: [UInt8] = [], isCancelled: () -> Bool = { false }
  ) throws(BatchError) -> Ending {
    guard !isCancelled() else { throw BatchError(.cancelled, "cancelled before it began") }
    let ending = try start(environment, input, isCancelled)
    guard !isCancelled() else { throw BatchError(.cancelled, "cancelled while it ran") }
    return ending
  }

  private func start(
    _ environment: [PathBytes], _ input: [UInt8], _ isCancelled: () -> Bool
  ) throws(BatchError) -> Ending {
    let input = try Descriptor.pipe(holding: input)
    let source = input.raw
    var pid: Int32 = 0
    let block = environment.reduce(into: [UInt8]()) { $0 += $1.bytes + [0] } + [0]
    let failed = command.withCString { command in
      block.withUnsafeBytes { clinux_spawn_shell(command, $0.baseAddress, source, &pid) }
    }
    guard failed == 0 else { throw .syscall("start a shell for the hook", errno: failed, path: command) }
    if let status = wait(for: pid, seconds: limit, isCancelled) { return Self.ending(status) }
    kill(-pid, SIGTERM)
    _ = wait(for: pid, seconds: Self.grace) { false }
    kill(-pid, SIGKILL)
    var status: Int32 = 0
    _ = retrying { Int(waitpid(pid, &status, 0)) }
    return .timeout
  }

  /// - Returns: the status of `waitpid(2)`; nil after the time limit.
  private func wait(for pid: Int32, seconds: Double, _ isCancelled: () -> Bool) -> Int32? {
    let step = 50
    var left = Int(min(seconds, 1e9) * 1000)
    let opened = clinux_pidfd_open(pid)
    defer { if opened >= 0 { _ = Descriptor(owning: opened) } }
    while true {
      var status: Int32 = 0
      let result = retrying { Int(waitpid(pid, &status, WNOHANG)) }
      if result != 0 { return result > 0 ? status : 0 }
      guard left > 0, !isCancelled() else { return nil }
      let pause = min(left, step)
      if opened >= 0 {
        var request = pollfd(fd: opened, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, Int32(pause))
      } else {
        usleep(UInt32(pause) * 1000)
      }
      left -= pause
    }
  }

  private static func ending(_ status: Int32) -> Ending {
    status & 0x7f == 0 ? .exit((status >> 8) & 0xff) : .signal(status & 0x7f)
  }
}
