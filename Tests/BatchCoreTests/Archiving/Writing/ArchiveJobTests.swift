import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// How a run that archives treats links, and files that cannot be read.
@Suite(.timeLimit(.minutes(3))) struct ArchiveJobTests {
  /// Keeps the written bytes in memory.
  private final class MemoryStream: ResultStream {
    private let bytes = Mutex([UInt8]())

    var content: [UInt8] { bytes.withLock { $0 } }

    func write(_ bytes: [UInt8]) { self.bytes.withLock { $0 += bytes } }

    func finish() {}
  }

  private struct Archived: Hashable {
    /// Compared as memory; an array is compared byte by byte without optimization.
    let bytes: Data
    let members: [PathBytes]
    let problems: [String]
    let done: Int
    let failed: Int
  }

  private func archive(
    _ fixture: TreeFixture, _ format: ArchiveFormat, concurrency: Int, calls: FaultyCalls,
    changes: [Int] = []
  ) async throws -> Archived {
    var batch = BatchOptions()
    batch.concurrency = concurrency
    batch.stride = .fixed(1)
    let problems = ProblemRecorder()
    let run = RunContext(options: batch, observer: problems, calls: calls)
    var walk = WalkOptions()
    walk.takesEverything = true
    let stream = MemoryStream()
    let members = Recorder<PathBytes>()
    var chosen = ArchiveOptions(format: format)
    if format.levels != nil { chosen.level = 1 }
    let options = chosen
    let job = ArchiveJob(options, output: stream) { written in
      for member in written { members.record(PathBytes(member.path.lastComponent)) }
      if !changes.isEmpty { run.concurrency.set(changes[members.count % changes.count]) }
    }
    let (root, takesAll) = (fixture.root, walk)
    let outcome = try await onThread {
      let source = try ArchiveSource(run.tree([root], options: takesAll), options: options)
      return BatchRunner(run).run(job, over: source)
    }
    #expect(outcome.summary.stopped == nil)
    let counts = outcome.summary.counts
    #expect(counts.seen == counts.done + counts.failed + counts.skipped)
    return Archived(
      bytes: Data(stream.content), members: members.values, problems: problems.lines.values,
      done: counts.done, failed: counts.failed)
  }

  /// Files whose further names are in later folders, so that the links are in separate chunks.
  private static func tree() throws -> TreeFixture {
    let fixture = try TreeFixture()
    try fixture.folder("links")
    for number in 0..<6 {
      try fixture.file(PathBytes("first\(number)"), "content \(number)")
      try fixture.hardLink(PathBytes("links/a\(number)"), to: PathBytes("first\(number)"))
      try fixture.hardLink(PathBytes("links/b\(number)"), to: PathBytes("first\(number)"))
    }
    return fixture
  }

  @Test(arguments: ["tar.zst", "tar", "cpio"])
  func leavesOutLinksToAFileThatCannotBeRead(_ name: String) async throws {
    let format = try #require(ArchiveFormat(named: name))
    let fixture = try Self.tree()
    var results = Set<Archived>()
    for round in 0..<(Campaign.isFull ? 50 : 16) {
      let calls = FaultyCalls()
      calls.on(.read, "first2", .fail(EIO))
      calls.on(.read, "first4", .fail(EIO))
      results.insert(
        try await archive(fixture, format, concurrency: [1, 2, 7, 32][round % 4], calls: calls))
    }
    #expect(results.count == 1)
    let result = try #require(results.first)
    #expect(Set(result.members).isDisjoint(with: ["first2", "a2", "b2", "first4", "a4", "b4"]))
    #expect(result.members.contains("a1") && result.members.contains("b5"))
    #expect(result.failed == 6)
    #expect(result.problems.filter { $0.contains("a2") || $0.contains("b4") }.count == 2)
  }

  @Test(arguments: [1, 2, 7]) func padsABlockThatCannotBeReadAnyMore(concurrency: Int) async throws {
    let fixture = try TreeFixture()
    try fixture.file("large", size: 40 << 20)
    let calls = FaultyCalls()
    // The header and the first blocks are written; later blocks cannot be read.
    calls.on(.read, "large", .failBehind(20 << 20, EIO))
    let format = try #require(ArchiveFormat(named: "tar.zst"))
    let result = try await archive(fixture, format, concurrency: concurrency, calls: calls)
    #expect(result.failed == 1)
    #expect(result.problems == ["failure unreadable large"])
    #expect(result.members.contains("large"))
  }

  @Test(arguments: ["tar.zst", "tar", "zip"])
  func makesTheSameArchiveWhileItsConcurrencyChanges(_ name: String) async throws {
    let fixture = try TreeFixture()
    for number in 0..<60 { try fixture.file(PathBytes("f\(number)"), size: number * 2000) }
    try fixture.file("large", size: 9 << 20)
    let format = try #require(ArchiveFormat(named: name))
    let expected = try await archive(fixture, format, concurrency: 1, calls: FaultyCalls())
    for start in [1, 2, 7, 32] {
      let result = try await archive(
        fixture, format, concurrency: start, calls: FaultyCalls(), changes: [1, 8, 2])
      #expect(result == expected)
    }
  }
}
