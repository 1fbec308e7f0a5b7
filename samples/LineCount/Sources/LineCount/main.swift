// Counts the lines of every file below the operands, in parallel, and prints them in tree order.
import BatchCore

struct LineCountJob: BatchJob {
  func process(_ chunk: Chunk<WalkItem>, in context: ChunkContext) throws(BatchError) -> [String] {
    var rows = [String]()
    for item in chunk.items {
      guard case .file(let record) = item else {
        if case .problem(let problem) = item { context.report(problem) } else { context.skip() }
        continue
      }
      var lines = 0
      let outcome = try context.read(record) {
        lines = 0
      } consume: { piece in
        lines += piece.count { $0 == UInt8(ascii: "\n") }
      }
      if outcome != nil { rows.append("\(lines) \(record.path)") }
    }
    return rows
  }

  func collect(_ rows: [String]) {
    for row in rows { print(row) }
  }
}

var options = BatchOptions()
options.concurrency = Capacity.current().concurrency
let runner = BatchRunner(options: options)
let tree = runner.tree(CommandLine.arguments.dropFirst().map { PathBytes($0) })
let summary = runner.run(LineCountJob(), over: tree)
print("\(summary.counts.done) files, \(summary.counts.failed) failed")
