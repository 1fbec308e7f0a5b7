@testable import BatchCore
@testable import BatchEngine

/// Reads every file of a tree and records a line for each, in the order of the results.
struct ReadingJob: BatchJob {
  let lines = Recorder<String>()

  func process(_ chunk: Chunk<WalkItem>, in context: ChunkContext) throws(BatchError) -> [String] {
    var lines = [String]()
    for item in chunk.items {
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
    return lines
  }

  func collect(_ output: [String]) {
    for line in output { lines.record(line) }
  }
}
