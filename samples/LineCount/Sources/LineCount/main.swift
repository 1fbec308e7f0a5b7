// Counts the lines of each file below the operands, in parallel, and prints the counts in tree order.
// Ends with 0; with 3 if files failed, 1 if an error has stopped the run, and 130 if INT has.
import BatchEngine
import Dispatch
import Foundation

struct LineCount: BatchJob {
  func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker() }
  func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector() }

  /// Each lane has one worker, which reads files.
  final class Worker: BatchWorker {
    func process(
      _ item: WalkItem, in context: WorkerContext, into rows: inout [String]
    ) throws(BatchError) {
      switch item {
      case .standardInput: context.skip(.special(.fifo))
      case .file(let record):
        var lines = 0
        let outcome = try context.read(record) {
          lines = 0
        } consume: { piece in
          lines += piece.count { $0 == UInt8(ascii: "\n") }
        }
        if outcome != nil { rows.append("\(lines) \(record.path)") }
      }
    }
  }

  /// A run has one collector, which receives the rows in tree order.
  final class Collector: BatchCollector {
    private var files = 0

    func collect(_ rows: [String]) {
      for row in rows { print(row) }
      files += rows.count
    }

    func finish() -> Int { files }
  }
}

var options = BatchOptions()
options.concurrency = Capacity.current().concurrency
let run = RunContext(options: options)
let counting = Task {
  let tree = run.tree(CommandLine.arguments.dropFirst().map { PathBytes($0) })
  return await BatchRunner(run).run(LineCount(), over: tree)
}
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
interrupts.setEventHandler { @Sendable in counting.cancel() }
interrupts.resume()

let outcome = await counting.value
let failed = outcome.summary.counts.failed
if let reason = outcome.summary.stopped {
  print("stopped: \(reason.message)")
  exit(reason.code == .cancelled ? 130 : 1)
}
print("\(outcome.result ?? 0) files, \(failed) failed")
exit(failed > 0 ? 3 : 0)
