import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The collector of an extraction")
final class ExtractCollectorTests {
  private let temporary: TreeFixture
  private let problems = Recorder<String>()
  private let reports = Recorder<String>()
  private let run: RunContext

  private struct Observer: RunObserver {
    let problems: Recorder<String>
    func met(_ problem: Problem, severity: Severity) {
      problems.record(problem.error.path?.description ?? "")
    }
  }

  init() throws {
    temporary = try TreeFixture()
    run = RunContext(observer: Observer(problems: problems))
  }

  private func order(_ path: PathBytes, _ kind: ArchiveEntry.Kind = .file) throws -> ExtractionOrder {
    ExtractionOrder(
      entry: ArchiveEntry(path: path, kind: kind, size: kind == .file ? 1 : 0), place: try RelativePath(path))
  }

  private func collector(
    _ overwriting: Replacing
  ) throws -> (ExtractCollector, MemberWriter, ContainedFolder) {
    var options = ExtractionOptions()
    options.replacing = overwriting
    let folder = try ContainedFolder(temporary.root, opener: RunContext().folders)
    let reports = reports
    let collector = ExtractCollector(folder, options: options, in: CollectorContext(run)) {
      reports.record($0.path.description)
    }
    return (collector, MemberWriter(folder, options, run.cancellation), folder)
  }

  /// A chunk of files as a worker would return it.
  private func chunk(
    _ paths: [PathBytes], _ lane: MemberWriter, _ folder: ContainedFolder
  ) throws -> ExtractedChunk {
    var chunk = ExtractedChunk()
    for path in paths {
      let order = try order(path)
      let made = try lane.make(order) { write throws(BatchError) in
        try withBytes(of: [7]) { (raw) throws(BatchError) in try write(raw, 0) }
      }
      switch made {
      case .undoable(let file): chunk.rows.append(.made(file))
      case .staged(let file): chunk.rows.append(.file(order, file))
      case nil: chunk.rows.append(.kept(order))
      }
    }
    chunk.rows.append(.bytes(paths.count))
    return chunk
  }

  @Test(
    "keeps, counts and reports nothing that comes after damage",
    arguments: [Replacing.never, .always])
  func stop(overwriting: Replacing) throws {
    let (collector, lane, folder) = try collector(overwriting)
    // Files after the damage have been made before the damage is known.
    var first = try chunk(["a/1", "a/2"], lane, folder)
    var behind = [try chunk(["a/3", "b/4"], lane, folder)]
    let lost = BatchError(.malformed, "lost", path: "c/lost")
    first.rows += [.failed(try RelativePath("c/lost"), lost), .note(.stop), .failed(nil, lost)]
    _ = try folder.open(Array("c".utf8)[...], creating: true)
    try lane.makeFolder(try order("empty", .directory))
    first.rows.insert(.deferred(DeferredStep(.folder, try order("empty", .directory))), at: 0)
    run.counters.addBytes(4)
    try collector.collect(first)
    #expect(run.isEnded)
    try collector.collect(behind.removeLast())
    let result = try collector.finish()
    #expect(result.archive.isCutShort && result.archive.isDamaged)
    #expect(reports.values == ["a/1", "a/2", "empty"])
    #expect(problems.values == ["c/lost"])
    let counts = run.counters.snapshot
    #expect(counts.done == 3 && counts.failed == 1 && counts.byteCount == 2 && counts.seen == 4)
    #expect(temporary.names() == ["a", "empty"] && temporary.names(in: "a") == ["1", "2"])
  }

  @Test("keeps a file that another process put in the place of a new one")
  func replaced() throws {
    let (collector, lane, folder) = try collector(.never)
    let behind = try chunk(["f", "g"], lane, folder)
    try temporary.file("f", "not ours")
    var stop = ExtractedChunk()
    stop.rows = [.note(.stop)]
    try collector.collect(stop)
    try collector.collect(behind)
    _ = try collector.finish()
    #expect(temporary.names() == ["f"])
    #expect(temporary.text("f") == "not ours")
  }

  @Test("removes the staged files of a run that is stopped, and keeps the existing ones")
  func discarded() throws {
    try temporary.file("f", "old")
    try temporary.file("g", "old")
    let (collector, lane, folder) = try collector(.always)
    var chunk: ExtractedChunk? = try chunk(["f", "g"], lane, folder)
    #expect(temporary.names().count == 4)
    chunk = nil
    _ = chunk
    collector.discard()
    #expect(temporary.names() == ["f", "g"])
    #expect(temporary.text("f") == "old" && temporary.text("g") == "old")
  }
}
