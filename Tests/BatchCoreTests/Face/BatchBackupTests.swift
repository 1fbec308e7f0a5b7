import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Snapshots that a program makes and restores.
@Suite(.timeLimit(.minutes(3))) struct BatchBackupTests {
  private let t: TreeFixture
  private var options = Batch.BackupOptions()

  init() throws {
    t = try TreeFixture()
    try t.file("d/a", String(repeating: "one\n", count: 500))
    try t.file("d/b", String(repeating: "two\n", count: 700))
    try t.file("d/sub/c", String(repeating: "three\n", count: 900))
    try t.setModified("d/a", seconds: 1_000_000_000)
    options.stateDirectory = t.state
    options.isSynced = false
  }

  private var d: PathBytes { t.path("d") }
  private var set: PathBytes { t.path("set") }
  /// The place of `d` below the target of a restore.
  private func restored(_ target: PathBytes, _ name: String) -> PathBytes {
    target.appending(d.bytes.dropFirst()).appending(name.utf8)
  }

  private func restoring(_ change: (inout Batch.RestoreOptions) -> Void = { _ in }) -> Batch.RestoreOptions {
    var options = Batch.RestoreOptions()
    options.extraction.isSynced = false
    change(&options)
    return options
  }

  private func snapshots() -> Int {
    t.names(in: "set").count { $0.bytes.suffix(13).elementsEqual(".manifest.zst".utf8) }
  }

  private func code<Value>(
    _ body: () async throws(BatchError) -> Value
  ) async -> BatchError.Code? {
    do throws(BatchError) {
      _ = try await body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test("each snapshot can be restored, also after a later one was made")
  func roundTrip() async throws {
    let first = try await Batch.backup([d], to: set, options)
    let id = try #require(first.id)
    #expect(first.isComplete && first.isFull && first.beginsSeries)
    #expect(first.files == 3 && first.bytes == 10_200)
    #expect(first.archived.files == 3 && first.archived.others == 2 && first.archived.size ?? 0 > 0)
    #expect(first.verified == 5 && first.rotten == 0 && first.failures.isEmpty && first.warnings.isEmpty)

    try t.file("d/a", "changed")
    try t.file("d/new", "new")
    let second = try await Batch.backup([d], to: set, options)
    #expect(second.isComplete && !second.isFull && !second.beginsSeries && second.id != id)
    #expect(second.files == 4 && second.archived.files >= 2 && snapshots() == 2)

    let old = try await Batch.restore(set, into: t.path("old"), restoring { $0.snapshot = id })
    #expect(old.snapshot == id && old.files == 3 && old.bytes == 10_200 && old.failures.isEmpty)
    #expect(t.content(restored("old", "a"))?.count == 2000 && !t.exists(restored("old", "new")))
    #expect(try t.path(restored("old", "a")).status().modified.seconds == 1_000_000_000)
    let newest = try await Batch.restore(set, into: t.path("new"), restoring())
    #expect(newest.snapshot == second.id && newest.files == 4)
    #expect(t.text(restored("new", "a")) == "changed" && t.text(restored("new", "new")) == "new")
    let again = try await Batch.restore(set, into: t.path("new"), restoring())
    #expect(again.files == 0 && again.counts.reasons[.upToDate] == again.counts.seen)
  }

  @Test("a backup with checkpoints is one snapshot, and leaves none that is incomplete")
  func checkpoints() async throws {
    for number in 0..<5 {
      try t.file(
        PathBytes("d/large\(number)"), [UInt8](repeating: UInt8(ascii: "0") + UInt8(number), count: 6000))
    }
    var options = options
    options.bytesPerCheckpoint = 8000
    let report = try await Batch.backup([d], to: set, options)
    #expect(report.isComplete && report.files == 8 && report.counts.seen >= 8)
    #expect(report.archived.files == 8 && snapshots() == 1)
    let archives = t.names(in: "set").filter { $0.bytes.suffix(8).elementsEqual(".tar.zst".utf8) }
    #expect(archives.count > 2)
    let sizes = try archives.reduce(Int64(0)) { try $0 + t.path("set").appending($1.bytes).status().size }
    #expect(report.archived.size == sizes)
    #expect(try await Batch.restore(set, into: t.path("out"), restoring()).files == 8)
  }

  @Test("removes what the snapshot does not have, but not what the backup left out")
  func removesOthers() async throws {
    try t.file("d/left.o", "left out")
    var making = options
    making.walk.filter = try PathFilter(rules: [.exclude(Array("*.o".utf8))])
    _ = try await Batch.backup([t.path("d")], to: set, making)
    _ = try await Batch.restore(set, into: t.path("out"), restoring())
    for name in ["new", "new.o"] { try t.file(restored("out", name), "new") }
    let (set, target, restore) = (set, t.path("out"), restoring { $0.removesOthers = true })
    let results = Batch.Results { try await Batch.restore(set, into: target, restore, each: $0) }
    var removed: [PathBytes] = []
    for try await file in results where file.result == .removed { removed.append(file.path) }
    #expect(removed.map { PathBytes($0.lastComponent) } == ["new"])
    #expect(try await results.report().removed == 1)
    #expect(!t.exists(restored("out", "new")) && t.exists(restored("out", "new.o")))
    let refused = await #expect(throws: BatchError.self) {
      try await Batch.restore(
        set, into: target,
        restoring {
          $0.removesOthers = true
          $0.patterns = ["nothing"]
        })
    }
    #expect(refused?.code == .refused)
  }

  @Test("restores chosen files, and replaces none that exists")
  func restoresChosenFiles() async throws {
    _ = try await Batch.backup([d], to: set, options)
    try t.file("out/sub/c", "mine")
    let names = d.bytes.split(separator: UInt8(ascii: "/")).count
    let report = try await Batch.restore(
      set, into: t.path("out"),
      restoring {
        $0.patterns = ["*/sub/c", "*/b", "none"]
        $0.strippedNames = names
      })
    #expect(report.files == 1 && report.unmatched == ["none"] && t.content("out/b")?.count == 2800)
    #expect(report.failures.count == 1 && t.text("out/sub/c") == "mine")
  }

  @Test("a set on which another run writes is refused, and is not changed")
  func locked() async throws {
    _ = try await Batch.backup([d], to: set, options)
    let before = t.names(in: "set")
    let run = RunContext()
    let lock = try BackupSet(in: set, named: "backup").lockForWriting(.none, in: run)
    let (d, set, options) = (d, set, options)
    #expect(
      await code { () throws(BatchError) in try await Batch.backup([d], to: set, options) } == .locked)
    #expect(t.names(in: "set") == before)
    // Reading is possible meanwhile.
    #expect(try await Batch.restore(set, into: t.path("out"), restoring()).files == 3)
    try lock.take(.removing, .none, run.cancellation)
    let defaults = restoring()
    #expect(
      await code { () throws(BatchError) in
        try await Batch.restore(set, into: t.path("other"), defaults)
      } == .locked)
    #expect(!t.exists("other"))
    withExtendedLifetime(lock) {}
  }

  @Test("refuses what is not possible, and makes no snapshot")
  func refuses() async throws {
    let (d, set, options) = (d, set, options)
    func code(
      _ paths: [PathBytes], to folder: PathBytes? = nil,
      _ change: (inout Batch.BackupOptions) -> Void = { _ in }
    ) async -> BatchError.Code? {
      var changed = options
      change(&changed)
      let final = changed
      return await self.code { () throws(BatchError) in
        try await Batch.backup(paths, to: folder ?? set, final)
      }
    }
    #expect(await code([]) == .missing)
    #expect(await code([t.path("none")]) == .missing)
    #expect(await code([d], to: d) == .invalid)
    #expect(await code([d], to: "host:set") == .invalid)
    #expect(await code([d], to: t.path("none/set")) == .missing)
    #expect(await code([d]) { $0.setName = "a/b" } == .invalid)
    #expect(await code([d]) { $0.setName = "a\nb" } == .invalid)
    #expect(await code([d]) { $0.level = 99 } == .invalid)
    #expect(!t.exists("set") || snapshots() == 0)
  }

  @Test("notices a disk that is not mounted: that of the set, and that of a source")
  func missingDisks() async throws {
    _ = try await Batch.backup([d], to: set, options)
    let (d, set, options) = (d, set, options)
    try t.rename("set", to: "elsewhere")
    #expect(
      await code { () throws(BatchError) in try await Batch.backup([d], to: set, options) } == .missing)
    try t.folder("set")
    #expect(
      await code { () throws(BatchError) in try await Batch.backup([d], to: set, options) } == .missing)
    #expect(t.names(in: "set").isEmpty)
    var new = options
    new.beginsSet = true
    #expect(try await Batch.backup([d], to: set, new).isFull)

    try t.rename("d", to: "e")
    try t.folder("d")
    #expect(
      await code { () throws(BatchError) in try await Batch.backup([d], to: set, options) } == .invalid)
    #expect(snapshots() == 1)
    var empty = options
    empty.allowsEmptySources = true
    #expect(try await Batch.backup([d], to: set, empty).files == 0)
  }

  @Test("a file that cannot be read is a failure; if no file can be read, there is no snapshot")
  func unreadable() async throws {
    try t.socket("d/socket")
    var options = options
    options.settings.policy[.special] = .fail
    let report = try await Batch.backup([d], to: set, options)
    #expect(report.id != nil && !report.isComplete && report.files == 3)
    #expect(report.failures.map(\.error.path) == [t.path("d/socket")])
    let (checked, set, socket) = (options, set, t.path("d/socket"))
    #expect(
      await code { () throws(BatchError) in try await Batch.backup([socket], to: set, checked) }
        == .unreadable)
    #expect(snapshots() == 1)
  }

  @Test("names of one file are restored as such when the filter of the snapshots changes")
  func links() async throws {
    try t.hardLink("d/more", to: "d/b")
    var options = options
    options.readsBack = false
    options.walk.filter = try PathFilter(rules: [.exclude(Array("more".utf8))])
    let first = try await Batch.backup([d], to: set, options)
    #expect(first.files == 3 && first.verified == nil)
    options.walk.filter = nil
    #expect(try await Batch.backup([d], to: set, options).files == 4)
    _ = try await Batch.restore(set, into: t.path("out"), restoring())
    let (one, other) = (t.path(restored("out", "b")), t.path(restored("out", "more")))
    #expect(try one.status().identity == other.status().identity)
  }

  @Test("what is damaged in a set is among the warnings of a backup and of a restore")
  func damagedManifest() async throws {
    let first = try #require(try await Batch.backup([d], to: set, options).id)
    let manifest = PathBytes("set/backup-\(first).manifest.zst")
    try t.file(manifest, try #require(t.content(manifest)).dropLast(20))
    let second = try await Batch.backup([d], to: set, options)
    #expect(second.isFull && second.isComplete && second.warnings.map(\.error.path) == [t.path(manifest)])
    let restored = try await Batch.restore(set, into: t.path("out"), restoring())
    #expect(restored.files == 3 && restored.snapshot == second.id && restored.failures.isEmpty)
    #expect(restored.warnings.map(\.error.path) == [t.path(manifest)])
  }

  @Test("a cancelled backup leaves no snapshot")
  func cancelled() async throws {
    for number in 0..<100 { try t.file(PathBytes("d/f\(number)"), size: 8000) }
    var options = options
    options.settings.bytesPerSecond = 26_000
    options.settings.stride = 1
    let (paced, d, set) = (options, d, set)
    let progress = Batch.Progress(every: .milliseconds(1))
    let task = Task { try await Batch.backup([d], to: set, paced, progress: progress) }
    for await state in progress where state.bytes > 0 { task.cancel() }
    let report = try await task.value
    #expect(report.isCancelled && report.id == nil && !report.isComplete)
    #expect(t.names(in: "set").allSatisfy { $0.bytes.first == UInt8(ascii: ".") })
    #expect(try await Batch.backup([d], to: set, self.options).files == 103)
  }

  @Test("a restore needs a set, a snapshot and its archives")
  func restoreRefuses() async throws {
    let first = try await Batch.backup([d], to: set, options)
    var other = options
    other.setName = "other"
    _ = try await Batch.backup([t.path("d/sub")], to: set, other)
    let (set, t) = (set, t)
    func code(_ change: (inout Batch.RestoreOptions) -> Void) async -> BatchError.Code? {
      let options = restoring(change)
      return await self.code { () throws(BatchError) in
        try await Batch.restore(set, into: t.path("out"), options)
      }
    }
    #expect(await code { _ in } == .invalid, "there are two sets")
    #expect(await code { $0.setName = "none" } == .missing)
    #expect(await code { ($0.setName, $0.snapshot) = ("other", "19990101") } == .missing)
    #expect(await code { ($0.setName, $0.snapshot) = ("other", "no time") } == .invalid)
    #expect(await code { ($0.setName, $0.source) = ("other", "/none") } == .missing)
    let defaults = restoring()
    #expect(
      await self.code { () throws(BatchError) in
        try await Batch.restore("host:set", into: t.path("out"), defaults)
      } == .invalid)
    let archives = t.names(in: "set").filter {
      $0.bytes.starts(with: "backup-".utf8) && $0.bytes.suffix(8).elementsEqual(".tar.zst".utf8)
    }
    #expect(archives.count == 1 && first.id != nil)
    for archive in archives { try t.remove(PathBytes("set").appending(archive.bytes)) }
    #expect(await code { $0.setName = "backup" } == .missing)
    #expect(!t.exists("out"))
  }
}
