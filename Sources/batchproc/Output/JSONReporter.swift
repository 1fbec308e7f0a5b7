import BatchCore
import Synchronization

/// Events for programs: JSON lines on standard output, numbered from 0 without a gap.
final class JSONReporter: Reporter {
  private let stream: any ResultStream
  private let cancellation: Cancellation
  private let diagnostics: Diagnostics
  private let sequence = Mutex(0)

  /// - Parameter diagnostics: told what ends the run when the stream cannot be told.
  init(stream: any ResultStream, cancellation: Cancellation, diagnostics: Diagnostics) {
    self.diagnostics = diagnostics
    self.stream = stream
    self.cancellation = cancellation
  }

  /// Writes events whose members, from the first comma on, are given; all in one piece.
  ///
  /// - Throws: what the stream throws.
  func write(_ type: String, members: some Sequence<ArraySlice<UInt8>>) throws(BatchError) {
    try sequence.withLock { sequence throws(BatchError) in
      var bytes = [UInt8]()
      for member in members {
        bytes += JSONLine(type, sequence: sequence).opening
        bytes += member
        sequence += 1
      }
      try stream.write(bytes)
    }
  }

  /// Writes one event.
  func write(_ type: String, _ fill: (inout JSONLine) -> Void) throws(BatchError) {
    try sequence.withLock { sequence throws(BatchError) in
      var line = JSONLine(type, sequence: sequence)
      fill(&line)
      sequence += 1
      try stream.write(line.finished())
    }
  }

  func met(_ problem: Problem, severity: Severity) {
    writeOrStop("problem") { line in
      line.add("event", problem.event.rawValue)
      line.add("severity", severity.rawValue)
      line.add(error: problem.error)
    }
  }

  func fatal(_ error: BatchError) {
    do throws(BatchError) {
      try write("error") { $0.add(error: error) }
    } catch {
      diagnostics.report(error)
    }
  }

  func summary(_ summary: RunSummary, text: SummaryText) {
    writeOrStop("summary") { line in
      line.add("seen", summary.counts.seen)
      line.add("done", summary.counts.done)
      line.add("failed", summary.counts.failed)
      line.add("skipped", summary.counts.skipped)
      line.add("changed", summary.counts.changed)
      line.add("bytes", summary.counts.byteCount)
      for (count, word) in text.tallies { line.add(word, count) }
      line.add("complete", summary.stopped == nil)
      line.add("seconds", summary.elapsed / .seconds(1))
    }
  }

  private func writeOrStop(_ type: String, _ fill: (inout JSONLine) -> Void) {
    do throws(BatchError) {
      try write(type, fill)
    } catch {
      cancellation.cancel(error)
    }
  }
}
