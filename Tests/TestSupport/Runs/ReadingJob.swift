import BatchEngine

/// Reads each file of a tree and records a line for it, in the order of the results.
package struct ReadingJob: BatchJob {
  package typealias Item = WalkItem

  package let lines: Recorder<String>

  /// - Parameter told: the recorder for the lines.
  package init(told lines: Recorder<String> = Recorder()) {
    self.lines = lines
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker() }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(lines)
  }

  package final class Worker: BatchWorker {
    package func process(
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
      case .standardInput: lines.append("-")
      }
    }
  }

  package final class Collector: BatchCollector {
    package typealias Summary = Void

    private let lines: Recorder<String>

    fileprivate init(_ lines: Recorder<String>) {
      self.lines = lines
    }

    package func collect(_ output: [String]) {
      for line in output { lines.record(line) }
    }
  }
}
