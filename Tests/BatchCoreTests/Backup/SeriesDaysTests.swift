import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// Two machines and three jobs share one set for a quarter. After each night, each of them has the snapshots that its rules keep.
@Suite(.timeLimit(.minutes(10))) struct SeriesDaysTests {
  private static let jobs = ["etc", "home", "home/deep"]
  private static let kept = 5
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    for job in Self.jobs { try t.folder(PathBytes("live/\(job)")) }
  }

  /// The content of a job's file on a night. Jobs do not change every night.
  private static func content(_ job: String, _ night: Int) -> String { "\(job) \(night / job.count)" }

  private func backUp(_ job: String, of machine: Machine, at seconds: Int64, to set: BackupSet) throws {
    var batch = BatchOptions()
    batch.concurrency = 1
    batch.stride = BackupOptions().archive.format.stride(count: nil)
    let run = RunContext(options: batch)
    var options = BackupOptions()
    options.isSynced = false
    options.fullEvery = 4
    options.machine = { machine }
    options.now = { FileStatus.Time(seconds: seconds, nanoseconds: 0) }
    // All changes are settled.
    options.fileClock = { FileStatus.Time(seconds: FileStatus.Time.now.seconds + 1000, nanoseconds: 0) }
    let backup = try BackupRun.prepare([t.path(PathBytes("live/\(job)"))], to: set, options: options, in: run)
    { _ in
    }
    var walk = WalkOptions()
    walk.takesEverything = true
    let outcome = BatchRunner(run).run(backup.job, over: try backup.preparation.source(walk, in: run))
    try backup.complete(try #require(outcome.result, "\(String(describing: outcome.summary.stopped))"))
    let prune = Prune(
      Retention(counts: [.daily: Self.kept]), of: set, try set.prunable(in: run), machine: machine,
      suspects: [], now: seconds)
    try prune.remove(backup.lock, .none, isSynced: false, in: run)
  }

  /// The content of the job's file in a snapshot.
  private func restored(_ snapshot: Snapshot, _ job: String, of set: BackupSet) throws -> String? {
    let run = RunContext()
    var options = ExtractionOptions()
    options.isSynced = false
    let folder = t.path("out")
    let reader = try RestoreReader.prepare(snapshot, of: set, options: options, in: SourceContext(run))
    try FolderMaker(calls: run.calls).make(folder)
    let job = (
      try ExtractJob(into: folder, selection: MemberSelection(), options: options, in: run) { _ in }, job
    )
    let outcome = BatchRunner(run).run(job.0, reading: reader)
    #expect(outcome.summary.counts.failed == 0)
    defer { try? t.removeTree("out") }
    return t.text(PathBytes("out\(t.path(PathBytes("live/\(job.1)/file")))"))
  }

  @Test("each job of each machine keeps its own snapshots and increments")
  func quarter() throws {
    let set = try BackupSet(in: t.path("set"), named: "shared")
    let machines = try (1...2).map { number in
      try Machine(identity: Array(String(repeating: "\(number)", count: 32).utf8), host: "host\(number)")
    }
    let (nights, off) = Campaign.isFull ? (90, 6..<13) : (15, 3..<10)
    for night in 0..<nights {
      for job in Self.jobs { try t.file(PathBytes("live/\(job)/file"), Self.content(job, night)) }
      for machine in machines {
        // The second machine was off for a week.
        if machine.host == "host2", off.contains(night) { continue }
        for job in Self.jobs {
          try backUp(job, of: machine, at: 1_793_584_800 + Int64(night) * 86_400, to: set)
        }
      }
    }
    let content = try set.content(in: RunContext())
    #expect(content.damaged.isEmpty)
    let series = content.snapshots.series(by: .hostAndSources)
    #expect(series.map(\.count) == Array(repeating: Self.kept, count: 6))
    for snapshots in series {
      let own = Set(snapshots.map(\.name.stamp))
      let path = try #require(snapshots[0].header.sources?.paths?.first)
      let job = try #require(Self.jobs.first { path == t.path(PathBytes("live/\($0)")) })
      for (index, snapshot) in snapshots.enumerated() {
        #expect(content.faults(of: snapshot).isEmpty)
        // Archives of pruned snapshots of the same series may be needed too, never those of another one.
        let others = Set(content.snapshots.map(\.name.stamp)).subtracting(own)
        #expect(others.isDisjoint(with: snapshot.footer.needs.keys))
        let night = nights - Self.kept + index
        #expect(try restored(snapshot, job, of: set) == Self.content(job, night), "\(job) \(night)")
      }
    }
  }
}
