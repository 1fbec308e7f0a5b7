import TestSupport

@testable import BatchCore
@testable import BatchEngine

/// Reads every file of a tree and records a line for each, in the order of the results.
struct ReadingJob: BatchJob {
  typealias Item = WalkItem

  let lines: Recorder<String>

  /// - Parameter told: where the lines are recorded.
  init(told lines: Recorder<String> = Recorder()) {
    self.lines = lines
  }

  func makeWorker(in context: WorkerContext) -> Worker { Worker() }

  func makeCollector(in context: CollectorContext) -> sending Collector { Collector(lines) }

  final class Worker: BatchWorker {
    func process(
      _ item: WalkItem, in context: WorkerContext, into lines: inout [String]
    ) throws(BatchError) {
      switch item {
      case .file(let record):
        var checksum = Checksum()
        let outcome = try context.read(record) {
          checksum = Checksum()
        } consume: {
          checksum.add($0)
        }
        if outcome != nil { lines.append("\(record.path) \(checksum)") }
      case .problem(let problem): context.report(problem)
      case .standardInput: lines.append("-")
      }
    }
  }

  final class Collector: BatchCollector {
    typealias Summary = Void

    private let lines: Recorder<String>

    init(_ lines: Recorder<String>) {
      self.lines = lines
    }

    func collect(_ output: [String]) {
      for line in output { lines.record(line) }
    }
  }
}
