import BatchCore
import BatchEngine
import Foundation
import Glibc
import Synchronization
import Testing

@testable import batchproc

@Suite struct TextReporterTests {
  /// The lines that a reporter prints for the calls in `body`.
  private func lines(
    quiet: Bool = false, verbose: Bool = false, stopwatch: Stopwatch = Stopwatch(),
    _ body: (TextReporter) -> Void
  ) throws -> [Substring] {
    let pipe = Pipe()
    let diagnostics = Diagnostics(descriptor: pipe.fileHandleForWriting.fileDescriptor, usesColor: false)
    body(TextReporter(diagnostics: diagnostics, isQuiet: quiet, isVerbose: verbose, stopwatch: stopwatch))
    try pipe.fileHandleForWriting.close()
    return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      .split(separator: "\n")
  }

  private func meet(
    _ count: Int, _ number: Int32, _ action: String = "write", by reporter: TextReporter,
    severity: Severity = .failure
  ) {
    for file in 0..<count {
      let error = BatchError.syscall(action, errno: number, path: PathBytes("f\(file)"))
      reporter.met(Problem(.unreadable, error), severity: severity)
    }
  }

  @Test func printsTheTimeOfTheWholeCommand() throws {
    let start = ContinuousClock.now
    let times = Mutex([start, start + .seconds(7)])
    let stopwatch = Stopwatch { times.withLock { $0.removeFirst() } }
    let counts = Counters.Snapshot()
    let found = try lines(stopwatch: stopwatch) { reporter in
      reporter.summary(
        RunSummary(counts: counts, stopped: nil, elapsed: .seconds(1)),
        text: SummaryText(verb: "hashed", files: 0, bytes: 0))
    }
    #expect(found == ["hashed 0 files in 7.00 s"])
  }

  @Test(arguments: [EIO, ENOSPC, EDQUOT, EROFS])
  func foldsTheMessagesOfADevice(number: Int32) throws {
    for quiet in [false, true] {
      let found = try lines(quiet: quiet) { reporter in
        meet(20, number, by: reporter)
        meet(1020, number, "sync its file system", by: reporter)
        reporter.tellFolded()
        reporter.tellFolded()
      }
      #expect(found.count == 41)
      #expect(found[19].hasPrefix("batchproc: f19: cannot write: "))
      #expect(found[39].hasPrefix("batchproc: f19: cannot sync its file system: "))
      #expect(found[40].hasPrefix("batchproc: 1,000 more: cannot sync its file system: "))
    }
  }

  @Test(arguments: [EACCES, ENOENT, EPERM, ELOOP, ENAMETOOLONG])
  func namesEachOtherProblem(number: Int32) throws {
    let found = try lines { reporter in
      meet(50, number, by: reporter)
      reporter.tellFolded()
    }
    #expect(found.count == 50)
  }

  @Test func namesEachProblemWhenVerbose() throws {
    let found = try lines(verbose: true) { reporter in
      meet(50, EIO, by: reporter)
      reporter.tellFolded()
    }
    #expect(found.count == 50 && !found.contains { $0.contains(" more: ") })
  }

  @Test func countsWarningsAndFailuresSeparately() throws {
    let found = try lines { reporter in
      meet(21, EIO, by: reporter, severity: .warning)
      meet(22, EIO, by: reporter)
      reporter.tellFolded()
    }
    #expect(
      found.suffix(2) == [
        "batchproc: warning: 1 more: cannot write: Input/output error",
        "batchproc: 2 more: cannot write: Input/output error",
      ])
    #expect(found.count == 42)
  }
}
