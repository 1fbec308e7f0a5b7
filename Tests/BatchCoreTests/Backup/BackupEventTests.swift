import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BatchCore

/// Files that vanish, change or fail during a backup. Each event happens between two system calls.
@Suite(.timeLimit(.minutes(2))) struct BackupEventTests {
  /// The result of a backup, without values that differ from tree to tree.
  private struct Report: Equatable {
    var rows: [String] = []
    var problems: [String] = []
    var failed = 0
    var changed = 0
  }

  private func backUp(
    _ t: TreeFixture, day: Int, concurrency: Int, calls: any FileSystemCalls = LinuxCalls(),
    renaming: [NameTransform] = []
  ) throws -> Report {
    let set = try BackupSet(in: t.path("set"), named: "s")
    var batch = BatchOptions()
    batch.concurrency = concurrency
    batch.stride = .segments(count: 2, byteCount: 1 << 20)
    let recorder = ProblemRecorder()
    let run = RunContext(options: batch, observer: recorder, calls: calls)
    var options = BackupOptions()
    options.isSynced = false
    options.archive.changes.names = renaming
    options.now = { FileStatus.Time(seconds: 1_760_000_000 + Int64(day) * 86_400, nanoseconds: 5) }
    // One day after the times of the files.
    options.fileClock = {
      FileStatus.Time(seconds: FileStatus.Time.now.seconds + 86_400, nanoseconds: 0)
    }
    let backup = try BackupRun.prepare([t.path("live")], to: set, options: options, in: run) { _ in }
    var walk = WalkOptions()
    walk.takesEverything = true
    let outcome = BatchRunner(run).run(backup.job, over: try backup.preparation.source(walk, in: run))
    let content = try #require(outcome.result, "\(String(describing: outcome.summary.stopped))")
    try backup.complete(content)
    var report = Report(
      problems: recorder.lines.values, failed: outcome.counts.failed, changed: outcome.counts.changed)
    let snapshot = try #require(try set.content(in: run).snapshots.last)
    let manifest = set.path(snapshot.name.manifest)
    try SnapshotReader.check(ManifestFile(manifest), in: SourceContext(RunContext()))
    let reader = try SnapshotReader(ManifestFile(manifest), in: SourceContext(RunContext()))
    while let item = try reader.next() {
      guard case .entry(let entry, _) = item, entry.kind == .file else { continue }
      let name = PathBytes(entry.path.lastComponent)
      report.rows.append(
        "\(name) \(entry.digest?.hex.prefix(8) ?? "") \(entry.archive) \(entry.isUnsettled ? "unsettled" : "")"
      )
    }
    return report
  }

  private func tree() throws -> TreeFixture {
    let t = try TreeFixture()
    for number in 1...9 { try t.file(PathBytes("live/f\(number)"), size: 1000 * number) }
    try t.file("live/large", size: 40 << 20)
    return t
  }

  /// Compares runs with several concurrencies, each over a fresh tree.
  private func expectSame(
    _ faults: (TreeFixture, FaultyCalls) -> Void, _ check: (Report, TreeFixture) throws -> Void
  ) throws {
    var first: Report?
    for concurrency in [1, 2, 7, 32] {
      let t = try tree()
      let calls = FaultyCalls()
      faults(t, calls)
      let report = try backUp(t, day: 0, concurrency: concurrency, calls: calls)
      #expect(first == nil || report == first, "-j \(concurrency)")
      first = first ?? report
      if concurrency == 2 { try check(report, t) }
    }
  }

  @Test("a row gets the digest of its own member, whatever name that has", arguments: [1, 7])
  func otherNames(concurrency: Int) throws {
    let plain = try backUp(try tree(), day: 0, concurrency: concurrency)
    let rules = try ["s,/f[0-9]$,/member,", "s,/large$,/f9,"].map { try NameTransform($0) }
    let renamed = try backUp(try tree(), day: 0, concurrency: concurrency, renaming: rules)
    #expect(plain.rows.count == 10 && renamed == plain, "\(renamed)")
  }

  @Test("a file that vanishes has no line, and the other files have theirs")
  func vanished() throws {
    try expectSame { t, calls in
      calls.on(.open, "f2", .before { try? t.remove("live/f2") })
      calls.on(.open, "f9", .before { try? t.remove("live/f9") })
    } _: { report, t in
      #expect(report.rows.count == 8 && report.failed == 0, "\(report)")
      #expect(!report.rows.contains { $0.hasPrefix("f2 ") || $0.hasPrefix("f9 ") })
      let next = try backUp(t, day: 1, concurrency: 2)
      #expect(next.rows == report.rows && next.problems == [], "\(next)")
    }
  }

  @Test("a file that grows is archived at its read length, named, and archived again by the next run")
  func grows() throws {
    try expectSame { t, calls in
      // A file that changed once is read again, and has not changed then.
      calls.on(.read, "f2", turns: 1...1, .after { try? t.append("more", to: "live/f2") })
      calls.on(.read, "f3", .after { try? t.append("more", to: "live/f3") })
    } _: { report, t in
      #expect(
        report.changed == 1 && report.failed == 0 && report.problems == ["warning changed f3"], "\(report)")
      #expect(report.rows.filter { $0.hasSuffix(" unsettled") }.map { $0.prefix(3) } == ["f3 "], "\(report)")
      let next = try backUp(t, day: 1, concurrency: 2)
      let moved = zip(report.rows, next.rows).filter { $0 != $1 }.map(\.1)
      // The other one is read again too, and has the content that was stored.
      #expect(moved.map { $0.prefix(3) } == ["f3 "] && next.problems == [], "\(next)")
      #expect(!next.rows.contains { $0.hasSuffix(" unsettled") })
    }
  }

  @Test("a file that shrinks or cannot be read has no line, is named, and counts as failed")
  func failing() throws {
    try expectSame { t, calls in
      calls.on(.read, "f4", turns: 1...1, .after { try? t.append("more", to: "live/f4") })
      calls.on(.read, "f4", turns: 2...2, .before { try? t.truncate("live/f4", to: 10) })
      calls.on(.read, "f5", .fail(EIO))
      calls.on(.open, "f6", .fail(EACCES))
      calls.on(.read, "large", turns: 2...2, .before { try? t.truncate("live/large", to: 1 << 20) })
    } _: { report, t in
      #expect(report.rows.map { $0.prefix(3) } == ["f1 ", "f2 ", "f3 ", "f7 ", "f8 ", "f9 "], "\(report)")
      #expect(report.failed == 4 && report.problems.count == 4, "\(report)")
      // The next backup has them.
      let next = try backUp(t, day: 1, concurrency: 2)
      #expect(next.rows.count == 10 && next.failed == 0, "\(next)")
      #expect(next.rows.filter { report.rows.contains($0) } == report.rows, "\(next)")
    }
  }
}
