// Writes FILE.unix next to each file below the operands, with Unix line ends. An output gets its name when it
// is complete.
import BatchEngine
import BatchOutputs

struct LineEnds: BatchJob {
  typealias Row = (source: PathBytes, text: [UInt8])

  func makeWorker(in context: WorkerContext, sharing: Void) -> Worker { Worker() }
  func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector(context) }

  final class Worker: BatchWorker {
    func process(_ item: WalkItem, in context: WorkerContext, into rows: inout [Row]) throws(BatchError) {
      switch item {
      case .standardInput: context.skip(.special(.fifo))
      case .file(let record):
        var text = [UInt8]()
        let outcome = try context.read(record, isCounted: false) {
          text.removeAll()
        } consume: { piece in
          text += piece.filter { $0 != UInt8(ascii: "\r") }
        }
        if outcome != nil { rows.append((record.path, text)) }
      }
    }
  }

  final class Collector: BatchCollector {
    private let context: CollectorContext
    private var written = 0

    init(_ context: CollectorContext) { self.context = context }

    func collect(_ rows: [Row]) throws(BatchError) {
      for row in rows {
        // Ends a cancelled run here, between two files, so that each output is complete.
        try context.checkCancellation()
        do throws(BatchError) {
          try context.withDescriptors(2) { () throws(BatchError) in
            let target = PathBytes(row.source.bytes + Array(".unix".utf8))
            let output = try OutputFile(target, isReplacing: true, isSynced: true, in: context)
            try output.write(row.text)
            try output.finish()
          }
          written += 1
          context.counters.addDone()
        } catch {
          context.report(Problem(.unreadable, error))
        }
      }
    }

    func finish() -> Int { written }
  }
}

let run = RunContext()
let tree = run.tree(CommandLine.arguments.dropFirst().map { PathBytes($0) })
let outcome = BatchRunner(run).run(LineEnds(), over: tree)
print("\(outcome.result ?? 0) files written, \(outcome.summary.counts.failed) failed")
