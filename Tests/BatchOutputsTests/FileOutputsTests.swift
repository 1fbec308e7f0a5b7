import BatchEngine
import BatchOutputs
import TestSupport
import Testing

/// A job of a program, which may use only public declarations: each output is its source in reverse.
private struct Reversal: BatchJob {
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
    private var content: [UInt8] = []

    init(_ lane: FileOutputs.Lane) { self.lane = lane }

    func process(
      _ item: WalkItem, in context: WorkerContext, into rows: inout [FileOutputs.Row]
    ) throws(BatchError) {
      guard case .file(let record) = item else { return }
      try lane.write(outputOf: record, in: context, into: &rows) {
        content = []
      } consume: { piece in
        content += piece
      } content: { () throws(BatchError) in
        guard content.count != 13 else { throw BatchError(.invalid, "has 13 bytes") }
        return content.reversed()
      }
    }

    func end(in context: WorkerContext, into rows: inout [FileOutputs.Row]) { lane.end() }
  }
}

@Suite struct FileOutputsTests {
  private func run(
    _ t: TreeFixture, concurrency: Int, directory: PathBytes? = nil, isSynced: Bool = true
  ) throws -> RunOutcome<Int> {
    var outputs = try FileOutputs.Options(suffix: ".rev", directory: directory, isSynced: isSynced)
    var options = BatchOptions()
    options.concurrency = concurrency
    try outputs.setApart(from: &options)
    let run = RunContext(options: options)
    return BatchRunner(run).run(Reversal(options: outputs), over: run.tree([t.path("d")]))
  }

  @Test(
    "each file gets an output, with mode and time of its source", arguments: [1, 2, 7, 32], [true, false])
  func outputs(concurrency: Int, isSynced: Bool) throws {
    let t = try TreeFixture()
    for index in 0..<100 { try t.file(PathBytes("d/\(index % 7)/f\(index)"), "content \(index)") }
    try t.setMode("d/1/f1", 0o640)
    let outcome = try run(t, concurrency: concurrency, isSynced: isSynced)
    #expect(outcome.result == 100)
    #expect(outcome.summary.counts.done == 100 && outcome.summary.counts.failed == 0)
    for index in 0..<100 {
      #expect(t.text(PathBytes("d/\(index % 7)/f\(index).rev")) == String("content \(index)".reversed()))
    }
    let (source, output) = (try t.path("d/1/f1").status(), try t.path("d/1/f1.rev").status())
    #expect(source.modified == output.modified && output.mode & 0o777 == 0o640)
  }

  @Test(
    "a second run writes only the outputs of files that changed, and none of an output", arguments: [1, 7])
  func again(concurrency: Int) throws {
    let t = try TreeFixture()
    for index in 0..<20 { try t.file(PathBytes("d/f\(index)"), "content \(index)") }
    #expect(try run(t, concurrency: concurrency).result == 20)
    try t.file("d/f3", "another content")
    let outcome = try run(t, concurrency: concurrency)
    #expect(outcome.result == 1)
    #expect(outcome.summary.counts.skipped == 39)
    #expect(t.text("d/f3.rev") == "tnetnoc rehtona")
  }

  @Test(
    "a file that is not an output is kept, and a failing file does not end the run", arguments: [1, 2, 7, 32])
  func refusals(concurrency: Int) throws {
    let t = try TreeFixture()
    for index in 0..<20 { try t.file(PathBytes("d/f\(index)"), "content \(index)") }
    try t.file("d/thirteen", "0123456789abc")
    try t.file("d/f5.rev", "the work of a day")
    try t.setModified("d/f5.rev", seconds: 1)
    let outcome = try run(t, concurrency: concurrency)
    #expect(t.text("d/f5.rev") == "the work of a day")
    #expect(!t.exists("d/thirteen.rev"))
    #expect(outcome.result == 20)
    #expect(outcome.summary.counts.failed == 2)
  }

  @Test("outputs are mirrored below a folder", arguments: [1, 7])
  func mirrored(concurrency: Int) throws {
    let t = try TreeFixture()
    try t.file("d/a/f", "abc")
    #expect(try run(t, concurrency: concurrency, directory: t.path("out")).result == 1)
    #expect(!t.exists("d/a/f.rev"))
    // Outputs below an operand are not sources.
    #expect(try run(t, concurrency: concurrency, directory: t.path("d/out")).result == 1)
    #expect(try run(t, concurrency: concurrency, directory: t.path("d/out")).result == 0)
    #expect(t.text(PathBytes("out\(t.path("d/a").text ?? "")/f.rev")) == "cba")
  }

  @Test("a suffix without bytes or with a slash is refused", arguments: ["", "/x", "a/b"])
  func suffix(text: String) {
    expectError(.invalid) { () throws(BatchError) in try FileOutputs.Options(suffix: PathBytes(text)) }
  }
}
