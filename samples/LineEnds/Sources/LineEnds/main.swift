// Writes FILE.unix next to each file below the operands, with Unix line ends, on all processors. An output
// gets its name when it is complete. Ends with 0; with 3 if files failed, 1 if an error has stopped the run, and 130
// if INT has.
import BatchEngine
import BatchOutputs
import Dispatch
import Foundation

struct LineEnds: BatchJob {
  let options: FileOutputs.Options

  var descriptors: Int { options.descriptorsOfLane }

  func makeShared(in context: CollectorContext) throws(BatchError) -> FileOutputs {
    try FileOutputs(options, in: context)
  }

  func makeWorker(in context: WorkerContext, sharing outputs: FileOutputs) -> Worker {
    Worker(FileOutputs.Lane(outputs))
  }

  func makeCollector(
    in context: CollectorContext, sharing outputs: FileOutputs
  ) -> sending FileOutputs.Collector {
    FileOutputs.Collector(outputs, in: context)
  }

  final class Worker: BatchWorker {
    private let lane: FileOutputs.Lane
    private var text: [UInt8] = []

    init(_ lane: FileOutputs.Lane) { self.lane = lane }

    func process(
      _ item: WalkItem, in context: WorkerContext, into rows: inout [FileOutputs.Row]
    ) throws(BatchError) {
      switch item {
      case .standardInput: context.skip(.special(.fifo))
      case .file(let record):
        try lane.write(outputOf: record, in: context, into: &rows) {
          text.removeAll(keepingCapacity: true)
        } consume: { piece in
          text += piece.filter { $0 != UInt8(ascii: "\r") }
        } content: {
          text
        }
      }
    }

    func end(in context: WorkerContext, into rows: inout [FileOutputs.Row]) { lane.end() }
  }
}

var options = BatchOptions()
options.concurrency = Capacity.current().concurrency
var outputs = try FileOutputs.Options(suffix: ".unix")
try outputs.setApart(from: &options)
let run = RunContext(options: options)
let job = LineEnds(options: outputs)
let writing = Task {
  let tree = run.tree(CommandLine.arguments.dropFirst().map { PathBytes($0) })
  return await BatchRunner(run).run(job, over: tree)
}
let interrupts = DispatchSource.makeSignalSource(signal: SIGINT)
interrupts.setEventHandler { @Sendable in writing.cancel() }
interrupts.resume()

let outcome = await writing.value
let failed = outcome.summary.counts.failed
if let reason = outcome.summary.stopped {
  print("stopped: \(reason.message)")
  exit(reason.code == .cancelled ? 130 : 1)
}
print("\(outcome.result ?? 0) files written, \(failed) failed")
exit(failed > 0 ? 3 : 0)
