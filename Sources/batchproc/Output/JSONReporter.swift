import BatchCore
import BatchEngine
import Synchronization
import var Glibc.STDERR_FILENO

/// Events for programs: JSON lines on standard output, numbered from 0 without a gap.
final class JSONReporter: Reporter {
  private let stream: any ResultStream
  private let cancellation: Cancellation
  private let diagnostics: Diagnostics
  private let state = Mutex(State())

  private struct State {
    var sequence = 0
    var hasSummary = false
    /// Lines that are about to be written.
    var lines = [UInt8]()

    mutating func append(_ type: String, _ fill: (inout JSONLine) -> Void) {
      var line = JSONLine(type, sequence: sequence)
      fill(&line)
      sequence += 1
      lines += line.finished()
    }

    mutating func appendSummary(isComplete: Bool, seconds: Double, _ fill: (inout JSONLine) -> Void) {
      hasSummary = true
      append("summary") { line in
        fill(&line)
        line.add("complete", isComplete)
        line.add("seconds", seconds)
      }
    }
  }

  private let stopwatch: Stopwatch

  private let recorder: RunRecorder?
  private let slowest: FileTimes?

  /// - Parameters:
  ///   - diagnostics: receives the error that ends the run when the stream cannot be written.
  ///   - recorder: receives all events too.
  ///   - slowest: the slowest files, reported before the summary.
  init(
    stream: any ResultStream, cancellation: Cancellation, diagnostics: Diagnostics,
    stopwatch: Stopwatch = Stopwatch(), recorder: RunRecorder? = nil, slowest: FileTimes? = nil
  ) {
    self.recorder = recorder
    self.slowest = slowest
    self.diagnostics = diagnostics
    self.stopwatch = stopwatch
    self.stream = stream
    self.cancellation = cancellation
  }

  /// A reporter for commands that process no files.
  static func onStandardOutput() -> JSONReporter {
    let cancellation = Cancellation()
    return JSONReporter(
      stream: StandardOutput(
        cancellation: cancellation,
        filter: StandardStreams.isTerminal(.output) ? TerminalText.escapeControls : nil),
      cancellation: cancellation, diagnostics: Diagnostics(descriptor: STDERR_FILENO, usesColor: false))
  }

  /// Writes results from their members, starting with the first comma.
  func write(_ type: String, members: some Sequence<ArraySlice<UInt8>>) throws(BatchError) {
    try write { state in
      for member in members {
        state.lines += JSONLine(type, sequence: state.sequence).bytes
        state.lines += member
        state.sequence += 1
      }
    }
  }

  /// Writes a result for each item, all at once.
  func write<Item>(
    _ type: String, _ items: [Item], _ fill: (inout JSONLine, Item) -> Void
  ) throws(BatchError) {
    try write { state in
      for item in items { state.append(type) { fill(&$0, item) } }
    }
  }

  func write(_ type: String, _ fill: (inout JSONLine) -> Void) throws(BatchError) {
    try write { $0.append(type, fill) }
  }

  /// Writes the last line of a run with other counts than files.
  func writeSummary(isComplete: Bool = true, _ fill: (inout JSONLine) -> Void) throws(BatchError) {
    try write { $0.appendSummary(isComplete: isComplete, seconds: stopwatch.seconds, fill) }
  }

  func met(_ problem: Problem, severity: Severity) {
    recorder?.met(problem, severity: severity)
    writeOrStop("problem") { line in
      line.add("event", problem.event.rawValue)
      line.add("severity", severity.rawValue)
      line.add(error: problem.error)
    }
  }

  func changed(_ change: ConcurrencyChange) {
    recorder?.changed(change)
    writeOrStop("concurrency") { line in
      line.add("from", change.old)
      line.add("to", change.new)
      line.add("reason", change.reason.rawValue)
      line.add("files_per_second", change.filesPerSecond)
      line.add("bytes_per_second", change.bytesPerSecond)
    }
  }

  func stalled(at files: [FileInProgress], seconds: Double) {
    // Standard output itself may be blocked.
    diagnostics.print(warning: FilesInProgressText.stall(files, seconds: seconds))
    writeOrStop { state in
      for file in files.isEmpty ? [nil] : files.map(Optional.some) {
        state.append("stall") { line in
          line.add("seconds", seconds)
          guard let file else { return }
          line.add(path: file.path)
          line.add("age", Double(file.age) / 1000)
        }
      }
    }
  }

  func fatal(_ error: BatchError) {
    recorder?.fatal(error)
    do throws(BatchError) {
      try write("error") { $0.add(error: error) }
    } catch {
      // No message if the reader has closed the output.
      if error.code != .closedOutput { diagnostics.report(error) }
    }
  }

  func unmatched(_ rules: [GivenRule]) {
    writeOrStop { state in
      for rule in rules {
        state.append("unmatched_rule") { line in
          line.add("option", rule.option.rawValue)
          line.add(path: rule.pattern, as: "pattern")
          if let file = rule.file { line.add(path: file, as: "file") }
        }
      }
    }
  }

  func summary(_ summary: RunSummary, text: SummaryText) {
    recorder?.summary(summary, text: text)
    if let slowest {
      write(slowest.slowestFiles, as: "file")
      write(slowest.slowestFolders, as: "folder")
    }
    writeOrStop { state in
      let isComplete = summary.stopped == nil
      state.appendSummary(isComplete: isComplete, seconds: stopwatch.seconds) { line in
        summary.counts.fill(&line)
        // The line already has a member `type`.
        for (count, word) in text.tallies { line.add(word == "type" ? "other_type" : word, count) }
        if let concurrency = summary.concurrency { line.add("concurrency", concurrency) }
      }
    }
  }

  func end(_ counts: Counters.Snapshot) {
    writeOrStop { state in
      guard !state.hasSummary else { return }
      state.appendSummary(isComplete: false, seconds: stopwatch.seconds) { counts.fill(&$0) }
    }
  }

  private func write(_ slowest: [SlowestTimes.Entry], as kind: String) {
    writeOrStop { state in
      for entry in slowest {
        state.append("slowest") { line in
          line.add(path: entry.path)
          line.add("kind", kind)
          line.add("files", entry.files)
          line.add("seconds", entry.seconds)
        }
      }
    }
  }

  private func write(_ fill: (inout State) -> Void) throws(BatchError) {
    try state.withLock { state throws(BatchError) in
      fill(&state)
      defer { state.lines = [] }
      if !state.lines.isEmpty { try stream.write(state.lines) }
    }
  }

  private func writeOrStop(_ type: String, _ fill: (inout JSONLine) -> Void) {
    writeOrStop { $0.append(type, fill) }
  }

  private func writeOrStop(_ fill: (inout State) -> Void) {
    do throws(BatchError) {
      try write(fill)
    } catch {
      cancellation.cancel(error)
    }
  }
}

extension Counters.Snapshot {
  /// Adds the counts of every summary of files.
  fileprivate func fill(_ line: inout JSONLine) {
    line.add("seen", seen)
    line.add("done", done)
    line.add("failed", failed)
    line.add("skipped", skipped)
    for (reason, count) in skippedByReason { line.add("skipped_" + reason.key, count) }
    line.add("changed", changed)
    line.add("bytes", byteCount)
  }
}
