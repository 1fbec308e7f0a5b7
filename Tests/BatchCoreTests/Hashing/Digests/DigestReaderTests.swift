import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Files whose digests are computed together. Rows and problems must be the same as when each file is hashed
/// separately.
@Suite(.timeLimit(.minutes(3))) struct DigestReaderTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for number in 10..<40 {
      try t.file(PathBytes("t/a\(number)"), String(repeating: "\(number) ", count: number * 7))
    }
    try t.file("t/b-cannot-be-read", "never seen")
    try t.file("t/b1", "after it")
    try t.file("t/b2", size: 65_534)
    try t.file("t/b3", size: 65_535)
    for number in 4..<9 { try t.file(PathBytes("t/b\(number)"), size: number * 65_536 - 1) }
    try t.file("t/b9", size: 524_289)
    try t.file("t/c-empty", "")
    try t.file("t/d-changes", "is replaced by more")
    try t.file("t/d1", "after it")
    try t.file("t/e-grows", "")
    try t.file("t/f-vanishes", "gone")
    for number in 10..<20 { try t.file(PathBytes("t/g\(number)"), size: 60_000 + number) }
    try t.file("t/h-has-no-row", "cannot be rendered")
    try t.file("t/i-cannot-be-read", "never seen")
    try t.file("t/j", "the last one")
  }

  private func faults() throws -> FaultyCalls {
    let calls = FaultyCalls()
    calls.on(.read, "b-cannot-be-read", .fail(EIO))
    calls.on(.read, "i-cannot-be-read", .fail(EIO))
    calls.on(.status, "d-changes", .status { $0.st_mtim.tv_nsec = Int.random(in: 0..<999_999_999) })
    calls.on(.open, "f-vanishes", .fail(ENOENT))
    return calls
  }

  /// Rows and problems in the order in which a run reports them.
  private func hash(_ algorithm: DigestAlgorithm, _ concurrency: Int) throws -> [String] {
    let lines = Recorder<String>()
    let job = HashJob(algorithms: [algorithm]) { (row, bytes) throws(BatchError) in
      let name = String(decoding: row.path.lastComponent, as: UTF8.self)
      guard !name.hasPrefix("h") else { throw BatchError(.invalid, "has no row", path: row.path) }
      bytes += Array("\(name) \(row.size) \(row.digests[0].hex)".utf8)
    } output: { rows in
      for row in rows.slices { lines.record(String(decoding: row, as: UTF8.self)) }
    }
    var options = BatchOptions()
    options.concurrency = concurrency
    options.policy[.vanished] = .fail
    let runner = BatchRunner(
      options: options, observer: ProblemRecorder(events: lines), calls: try faults())
    let summary = runner.run(job, over: runner.tree([t.path("t")]))
    let counts = summary.counts
    #expect(summary.stopped == nil)
    #expect(counts.seen == counts.done + counts.failed + counts.skipped)
    #expect(counts.failed == 4)
    return lines.values
  }

  @Test(arguments: [1, 3])
  func rowsAndProblemsKeepTheOrderOfTheTree(concurrency: Int) async throws {
    let (together, apart) = try await onThread {
      (try hash(.sha256, concurrency), try hash(.sha512, concurrency))
    }
    // With another algorithm each file is hashed separately.
    func withoutDigest(_ line: String) -> String {
      line.split(separator: " ").prefix(line.utf8.count > 60 ? 2 : 3).joined(separator: " ")
    }
    #expect(together.map(withoutDigest) == apart.map(withoutDigest))
    #expect(together.contains("failure unreadable b-cannot-be-read"))
    #expect(together.last?.hasPrefix("j 12 ") == true)
    var rows = 0
    for line in together {
      let words = line.split(separator: " ")
      guard line.utf8.count > 60, let name = words.first, let digest = words.last else { continue }
      let content = try #require(t.content(PathBytes("t/\(name)")))
      #expect(try Digest.of(content, .sha256).hex == digest, "\(name)")
      rows += 1
    }
    // 58 files, of which 4 failed.
    #expect(rows == 54)
  }

  @Test func aCheckFindsTheFilesThatDiffer() async throws {
    let names = t.names(in: "t").map(\.description)
    var rows = ""
    for name in names {
      let bytes = try #require(t.content(PathBytes("t/\(name)")))
      // Some rows do not name their algorithm.
      let algorithm: DigestAlgorithm = name.hasPrefix("a2") ? .blake3 : .sha256
      rows += try Digest.of(name == "g13" ? [1] : bytes, algorithm).hex + "  \(name)\n"
    }
    try t.file("manifest", rows)
    let run = RunContext()
    let lines = Recorder<String>()
    let job = CheckJob(ignoresMissing: false) { (entry, outcome, bytes) in
      bytes += entry.path.bytes + Array(" \(outcome)".utf8)
    } output: { chunk in
      for row in chunk.rows.slices { lines.record(String(decoding: row, as: UTF8.self)) }
    }
    let (manifest, folder) = (t.path("manifest"), t.path("t"))
    let summary = try await onThread {
      let source = CheckSource(
        manifests: [manifest], in: folder, options: ManifestReader.Options(), context: SourceContext(run))
      return BatchRunner(run).run(job, over: source)
    }
    let tally = try #require(summary.result)
    #expect(tally.differs == 1)
    #expect(lines.values == names.map { "\($0) \($0 == "g13" ? "differs" : "matches")" })
  }
}
