// Counts the lines of every file below the operands, in parallel, and prints them in tree order.
import BatchEngine

struct LineCount: BatchJob {
  func makeWorker(in context: WorkerContext) -> Worker { Worker() }
  func makeCollector(in context: CollectorContext) -> sending Collector { Collector() }

  /// One for each lane: reads files.
  final class Worker: BatchWorker {
    func process(
      _ item: WalkItem, in context: WorkerContext, into rows: inout [String]
    ) throws(BatchError) {
      switch item {
      case .problem(let problem): context.report(problem)
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

  /// One for the run: takes the rows in the order of the tree.
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
let tree = run.tree(CommandLine.arguments.dropFirst().map { PathBytes($0) })
let outcome = BatchRunner(run).run(LineCount(), over: tree)
print("\(outcome.result ?? 0) files, \(outcome.summary.counts.failed) failed")
