import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// Names of hard-linked files, and the folders that hold them, change from day to day. Each snapshot restores
/// exactly the tree of its day, by this program and by stock tools.
@Suite(.timeLimit(.minutes(10))) struct BackupLinkDaysTests {
  private static let daysOfTour = Campaign.isFull ? 20 : 9
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func backUp(day: Int, concurrency: Int, to set: BackupSet) throws {
    var batch = BatchOptions()
    batch.concurrency = concurrency
    batch.stride = BackupOptions().archive.format.stride(count: nil)
    let run = RunContext(options: batch)
    var options = BackupOptions()
    options.isSynced = false
    options.now = { FileStatus.Time(seconds: 1_760_000_000 + Int64(day) * 86_400, nanoseconds: 5) }
    // The clock is late enough that all changes are settled, so only the rows decide what is archived again.
    options.fileClock = {
      let now = FileStatus.Time.now
      return FileStatus.Time(seconds: now.seconds + 1000, nanoseconds: 0)
    }
    options.patience = .none
    // On some days no file of the tree is left.
    options.allowsEmpty = true
    let backup = try BackupRun.prepare([t.path("live")], to: set, options: options, in: run) { _ in }
    var walk = WalkOptions()
    walk.takesEverything = true
    let outcome = BatchRunner(run).run(backup.job, over: try backup.preparation.source(walk, in: run))
    let content = try #require(outcome.result, "\(String(describing: outcome.summary.stopped))")
    #expect(outcome.summary.counts.failed == 0)
    try backup.complete(content)
  }

  /// A text of names, kinds, modes, sizes, times, contents, and which names belong to one file; and the same
  /// without the times of folders.
  private func state(of folder: PathBytes) throws -> (all: String, withoutFolderTimes: String) {
    let text = try Outcome(
      shell: """
        cd '\(folder)' || exit
        find . -type d -printf '%P|%T@\\n' | sort
        echo ==
        find . -type d -printf '%P|%m\\n' | sort
        find . ! -type d -printf '%P|%y|%m|%U|%T@|%s|%l\\n' | sort
        find . -type f -exec sha256sum {} + | sort -k2
        find . -type f -printf '%i|%P\\n' | sort -t'|' -k2 | awk -F'|' '{ if (!($1 in n)) n[$1] = ++c; print n[$1], $2 }'
        """
    ).text
    return (text, text.components(separatedBy: "\n==\n").last ?? "")
  }

  private func restore(_ snapshot: Snapshot, of set: BackupSet, concurrency: Int, to folder: PathBytes) throws
  {
    var batch = BatchOptions()
    batch.concurrency = concurrency
    let run = RunContext(options: batch)
    var options = ExtractionOptions()
    options.restoresOwner = true
    options.restoresPrivileges = true
    options.isSynced = false
    let reader = try RestoreReader.prepare(snapshot, of: set, options: options, in: SourceContext(run))
    #expect(reader.doubtfulLinks == 0)
    try FolderMaker(calls: run.calls).make(folder)
    let job = try ExtractJob(into: folder, selection: MemberSelection(), options: options, in: run) { _ in }
    let outcome = BatchRunner(run).run(job, reading: reader)
    let extraction = try #require(outcome.result)
    let archive = extraction.archive
    #expect(!archive.isDamaged && !archive.isCutShort && outcome.summary.counts.failed == 0)
  }

  /// Restores by the script for stock tools.
  private func restoreByHand(_ snapshot: Snapshot, to folder: PathBytes) throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let script = root.appendingPathComponent("samples/restore-by-hand.sh").path
    let run = try Outcome(
      shell: "'\(script)' '\(t.path("set"))' \(snapshot.name.stamp) '\(folder)' 2>&1 || echo $?")
    #expect(run.text == "")
  }

  /// Some changes of one day to existing files and folders. The tree has few folders and names, so that names
  /// return and collide often.
  private func changes(_ generator: inout SeededNumbers) -> String {
    func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
    func folder() -> String { ["d\(pick(4))", "d\(pick(4))/s\(pick(2))", "."][pick(3)] }
    func newName() -> String { "\(folder())/f\(pick(4))" }
    func file() -> String { "\"$(any f \(pick(1000)))\"" }
    var script = """
      cd \(t.path("live"))
      any() { find . -mindepth 1 -type $1 | LC_ALL=C sort | awk -v n=$2 '{ a[NR] = $0 } END { if (NR) print a[n % NR + 1] }'; }

      """
    for _ in 0..<(1 + pick(6)) {
      let (new, to) = (newName(), ["d\(pick(4))", "d\(pick(4))/s\(pick(2))"][pick(2)])
      let from = "\"$(any d \(pick(1000)))\""
      switch pick(14) {
      case 0, 1: script += "mkdir -p $(dirname \(new)); [ -d \(new) ] || echo \(pick(1000)) >>\(new)\n"
      case 2, 3, 4: script += "[ -e \(new) ] || { mkdir -p $(dirname \(new)); ln \(file()) \(new); }\n"
      case 5: script += "rm -f \(file())\n"
      case 6: script += "[ -d \(new) ] || mv -T \(file()) \(new)\n"
      case 7, 8, 9: script += "[ -e \(to) ] || mv -T \(from) \(to)\n"
      case 10: script += "name=d\(pick(4)); [ -e ../outside/$name ] || mv -T \(from) ../outside/$name\n"
      case 11: script += "[ -e \(to) ] || mv -T ../outside/d\(pick(4)) \(to)\n"
      case 12: script += "echo \(pick(1000)) >../new && mv -T ../new \(file())\n"
      default:
        script += "chmod \(["600", "644"][pick(2)]) \(file())\(pick(4) == 0 ? "; rm -rf \(from)" : "")\n"
      }
    }
    return script
  }

  @Test("each of the days is restored with its names, contents and links", arguments: [1, 7])
  func days(concurrency: Int) throws {
    var generator = SeededNumbers(
      seed: Campaign.isFull ? UInt64.random(in: 0...UInt64.max) : UInt64(concurrency))
    // Half of the days are backed up at each concurrency.
    for tour in 0..<(Campaign.isFull ? 10 : 1) {
      _ = try Outcome(shell: "rm -rf live outside set; mkdir live outside", in: t)
      let set = try BackupSet(in: t.path("set"), named: "days")
      var states: [(all: String, withoutFolderTimes: String)] = []
      var scripts: [String] = []
      for day in 0..<Self.daysOfTour {
        scripts.append(changes(&generator))
        _ = try Outcome(shell: "(\(scripts[day])) 2>/dev/null; true")
        states.append(try state(of: t.path("live")))
        try backUp(day: day, concurrency: concurrency, to: set)
      }
      let content = try set.content(in: RunContext())
      #expect(content.snapshots.count == Self.daysOfTour && content.damaged.isEmpty)
      for (day, snapshot) in content.snapshots.enumerated() {
        let (ours, theirs) = (t.path("ours"), t.path("theirs"))
        try restore(snapshot, of: set, concurrency: concurrency, to: ours)
        let place = PathBytes(t.path("live").bytes.dropFirst())
        let history = "tour \(tour), day \(day):\n\(scripts[...day].joined())"
        #expect(try state(of: ours.appending(place.bytes)).all == states[day].all, "\(history)")
        // The script starts many programs for each snapshot.
        if Campaign.isFull || day.isMultiple(of: 2) == (concurrency == 1) {
          try restoreByHand(snapshot, to: theirs)
          #expect(
            try state(of: theirs.appending(place.bytes)).withoutFolderTimes
              == states[day].withoutFolderTimes,
            "\(history)")
        }
        _ = try Outcome(shell: "rm -rf ours theirs", in: t)
      }
    }
  }
}
