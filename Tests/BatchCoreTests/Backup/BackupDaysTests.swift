import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// A tree changes from day to day, by a clock that the test sets. Each snapshot restores exactly its day.
@Suite(.timeLimit(.minutes(4))) struct BackupDaysTests {
  private let t: TreeFixture
  private var set: BackupSet { get throws { try BackupSet(in: t.path("set"), named: "days") } }

  init() throws {
    t = try TreeFixture()
    try t.folder("live")
    try t.folder("days")
  }

  private func backUp(
    day: Int, concurrency: Int = 2, to set: BackupSet? = nil, fileTime: FileStatus.Time? = nil,
    fullEvery: UInt64 = 7
  ) throws {
    var batch = BatchOptions()
    batch.concurrency = concurrency
    batch.stride = BackupOptions().archive.format.stride(count: nil)
    let run = RunContext(options: batch)
    var options = BackupOptions()
    options.isSynced = false
    options.fullEvery = fullEvery
    options.now = { FileStatus.Time(seconds: 1_760_000_000 + Int64(day) * 86_400, nanoseconds: 5) }
    if let fileTime { options.fileClock = { fileTime } }
    let backup = try BackupRun.prepare(
      [t.path("live")], to: set ?? self.set, options: options, in: run
    ) { _ in }
    var walk = WalkOptions()
    walk.takesEverything = true
    let outcome = BatchRunner(run).run(backup.job, over: try backup.preparation.source(walk, in: run))
    let content = try #require(outcome.result, "\(String(describing: outcome.summary.stopped))")
    #expect(outcome.summary.counts.failed == 0)
    try backup.complete(content)
  }

  /// A text of names, kinds, modes, owners, sizes, times, link targets, link groups and contents.
  private func state(of folder: String) throws -> String {
    try Outcome(
      shell: """
        cd '\(folder)' && find . -printf '%P|%y|%m|%U|%G|%T@|%l|%n|' \\( -type d -printf 0 -o -printf '%s' \\) -print | sort
        find . -type f -exec b2sum {} + | sort
        """
    ).text
  }

  private func restore(_ snapshot: Snapshot, to folder: PathBytes) throws {
    let run = RunContext()
    var options = ExtractionOptions()
    options.restoresOwner = true
    options.restoresPrivileges = true
    options.isSynced = false
    let reader = try RestoreReader.prepare(snapshot, of: set, options: options, in: SourceContext(run))
    try FolderMaker(calls: run.calls).make(folder)
    let job = try ExtractJob(into: folder, selection: MemberSelection(), options: options, in: run) { _ in }
    let outcome = BatchRunner(run).run(job, reading: reader)
    let extraction = try #require(outcome.result)
    let archive = extraction.archive
    #expect(!archive.isDamaged && !archive.isCutShort && outcome.summary.counts.failed == 0)
  }

  private func change(_ generator: inout SeededNumbers, day: Int) throws {
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    var script = "cd \(t.path("live"))\n"
    for _ in 0..<12 {
      let (file, other) = ("d\(pick(5))/f\(pick(9))", "d\(pick(5))/g\(pick(9))")
      let folder = "d\(pick(5))"
      switch pick(12) {
      case 0, 1, 2: script += "mkdir -p \(folder); [ -d \(file) ] || seq \(pick(3000)) >\(file)\n"
      case 3:
        script +=
          "mkdir -p \(folder)/sub/deep; [ -d \(folder)/sub/x ] || head -c \(pick(70000)) /dev/urandom >\(folder)/sub/x\n"
      case 4: script += "[ -e \(other) ] || mv -T \(file) \(other)\n"
      case 5: script += "rm -rf \(file)\n"
      case 6: script += "[ -e \(other) ] || ln \(file) \(other)\n"
      case 7: script += "[ -d \(other) ] || ln -sfn ../\(file) \(other)\n"
      case 8: script += "chmod \(["600", "644", "751", "4755"][pick(4)]) \(file)\n"
      case 9: script += "touch -d @\(1_700_000_000 + pick(1000)).\(pick(1_000_000_000)) \(file)\n"
      case 10: script += "rm -rf \(folder); mkdir -m 750 \(folder)\n"
      default: script += "rm -rf \(file); mkdir \(file) && echo in >\(file)/in; mkfifo \(folder)/pipe\n"
      }
    }
    // Rewrites the file in place, and restores its size and time.
    script += """
      f=$(find . -type f -name 'f*' | sort | head -n 1)
      if [ -n "$f" ]; then
        touch -r "$f" ../ref
        printf Z | dd of="$f" conv=notrunc status=none
        touch -r ../ref "$f"
      fi

      """
    if day == 0 {
      script += """
        \(Self.largeFiles)
        printf x >$'new\\nline'
        printf y >$'not\\xffutf8'

        """
    }
    _ = try Outcome(of: ["bash", "-c", PathBytes("(\(script)) 2>/dev/null; true")])
  }

  /// Makes files of 16 MiB or more, which are archived in blocks.
  private static let largeFiles = "head -c 16800000 /dev/zero | tr '\\0' a >large; truncate -s 17M hole"

  /// Makes or removes the large files.
  private func changeLargeFiles(_ script: String) throws {
    let changed = try Outcome(shell: "cd '\(t.path("live"))' && \(script)")
    #expect(changed.status == 0, "\(changed.errorText)")
  }

  @Test("each of the days is restored as it was")
  func days() throws {
    var generator = SeededNumbers(seed: Campaign.isFull ? UInt64.random(in: 0...UInt64.max) : 4)
    let count = max(8, Campaign.cases(30))
    var states: [String] = []
    for day in 0..<count {
      try change(&generator, day: day)
      // Each full snapshot has the large files, the next one refers to them, and later ones have none.
      if day > 0, day.isMultiple(of: 7) { try changeLargeFiles(Self.largeFiles) }
      if day % 7 == 2 { try changeLargeFiles("rm large hole") }
      states.append(try state(of: "\(t.path("live"))"))
      try backUp(day: day)
    }
    let content = try set.content(in: RunContext())
    #expect(content.snapshots.count == count && content.damaged.isEmpty)
    #expect(content.snapshots.map(\.header.increment) == (0..<count).map { UInt64($0 % 7) })
    for (day, snapshot) in content.snapshots.enumerated() {
      let folder = t.path(PathBytes("days/\(day)"))
      try restore(snapshot, to: folder)
      #expect(try state(of: "\(folder)\(t.path("live"))") == states[day], "day \(day)")
      _ = try Outcome(of: ["rm", "-rf", folder])
    }
  }

  @Test("each of the days that stay is restored as it was after archives were compacted")
  func compaction() throws {
    var generator = SeededNumbers(seed: Campaign.isFull ? UInt64.random(in: 0...UInt64.max) : 6)
    var states: [String: String] = [:]
    var compacted = 0
    let count = max(12, Campaign.cases(60))
    for day in 0..<count {
      try change(&generator, day: day)
      // By this clock no file changed shortly before.
      try backUp(
        day: day, fileTime: FileStatus.Time(seconds: FileStatus.Time.now.seconds + 86_400, nanoseconds: 0),
        fullEvery: 1000)
      let newest = try #require(try set.content(in: RunContext()).snapshots.last)
      states[newest.name.stamp] = try state(of: "\(t.path("live"))")
      let set = try set
      var call = PruneCall(
        Retention(counts: [.last: Int.random(in: 2...4, using: &generator)]), .taken(.none)
      ) { _ in set }
      call.isSynced = false
      call.leastUsed = [50, 80, 100][Int.random(in: 0..<3, using: &generator)]
      let outcome = try call.perform(.items([]), in: RunContext(), watchedBy: Unwatched()) { _ in }
      let prune = try #require(outcome.result, "\(String(describing: outcome.summary.stopped))")
      compacted += prune.compacted.count
      for one in prune.compacted { #expect(one.after < one.before) }
      guard day % 3 == 2 else { continue }
      for snapshot in try set.content(in: RunContext()).snapshots {
        let folder = t.path(PathBytes("days/\(snapshot.name.stamp)"))
        try restore(snapshot, to: folder)
        let found = try state(of: "\(folder)\(t.path("live"))")
        #expect(found == states[snapshot.name.stamp], "day \(day), \(snapshot.name.stamp)")
        _ = try Outcome(of: ["rm", "-rf", folder])
      }
    }
    #expect(compacted >= count / 2)
  }

  @Test("the archive and the manifest are the same at every concurrency")
  func concurrency() throws {
    var generator = SeededNumbers(seed: 5)
    for day in 0..<3 {
      try change(&generator, day: day)
      // The limit of what is too recent is the same in all runs.
      let now = FileStatus.Time.now
      for concurrency in [1, 2, 7, 32] {
        try backUp(
          day: day, concurrency: concurrency,
          to: BackupSet(in: t.path(PathBytes("set-\(concurrency)")), named: "days"), fileTime: now)
      }
    }
    for concurrency in [2, 7, 32] {
      let difference = try Outcome(of: [
        // Lists of blocks have a random seed.
        "diff", "-ra", "--exclude=.days.id", "--exclude=*.blocks", t.path("set-1"),
        t.path(PathBytes("set-\(concurrency)")),
      ])
      #expect(difference.status == 0, "\(difference.text.prefix(2000))")
    }
  }
}
