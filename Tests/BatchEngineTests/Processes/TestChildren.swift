import Glibc
import Synchronization
import TestSupport

@testable import BatchEngine

/// A runner with everything that it needs. Its folder is removed afterwards.
final class TestChildren: Sendable {
  let concurrency: ConcurrencyLimit
  let cancellation = Cancellation()
  let store: CaptureStore
  let runner: ChildRunner
  /// What children write to standard error at once, with their tags.
  let lines = Recorder<(tag: Int, lines: [UInt8])>()
  private let tags = Atomic<Int>(0)

  /// - Parameters:
  ///   - grace: seconds between TERM and KILL.
  ///   - linger: seconds for which a pipe is read after the end of a child.
  init(
    _ concurrency: Int = 2, memory: Int = 8 << 20, in folder: PathBytes = "/dev/shm", grace: Double = 3600,
    linger: Double = 3600, hasPidfd: Bool = true, isLive: Bool = false,
    calls: any FileSystemCalls = LinuxCalls(),
    atLines: @escaping @Sendable ([UInt8]) -> Void = { _ in }
  ) throws {
    self.concurrency = ConcurrencyLimit(concurrency)
    store = CaptureStore(memory: memory, folder: folder, calls: calls)
    let lines = lines
    let live: @Sendable (Int, [UInt8]) -> Void = { tag, bytes in
      lines.record((tag, bytes))
      atLines(bytes)
    }
    runner = try ChildRunner(
      concurrency: self.concurrency, cancellation: cancellation, captures: store,
      liveErrors: isLive ? live : nil, times: .init(grace: grace, linger: linger), hasPidfd: hasPidfd)
  }

  deinit { runner.stop() }

  /// A command that runs a script with `sh`, as `$0` and further words.
  static func shell(_ script: String, _ words: [PathBytes] = []) -> ChildCommand {
    ChildCommand("/bin/sh", ["sh", "-c", PathBytes(script)] + words)
  }

  func start(_ command: ChildCommand, _ ended: @escaping @Sendable (Result<ChildEnding, BatchError>) -> Void)
  {
    runner.start(command, tag: tags.add(1, ordering: .relaxed).oldValue, ended: ended)
  }

  func ending(of command: ChildCommand) async throws -> ChildEnding {
    try await withCheckedThrowingContinuation { continuation in
      start(command) { continuation.resume(with: $0) }
    }
  }

  func ending(of script: String, _ words: [PathBytes] = []) async throws -> ChildEnding {
    try await ending(of: Self.shell(script, words))
  }
}

extension CapturedOutput {
  var bytes: [UInt8] {
    get throws {
      var all: [UInt8] = []
      try forEach { all += $0 }
      return all
    }
  }

  var text: String { get throws { String(decoding: try bytes, as: UTF8.self) } }
}

/// A pipe, of which children use one end.
final class TestPipe: Sendable {
  let reading: Int32
  let writing: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw BatchError.syscall("make a pipe", errno: errno) }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func write(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(writing, $0.baseAddress, $0.count) }
  }
}
