import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Searches, copies, drills and removals of snapshots by a program.
@Suite(.timeLimit(.minutes(3))) struct BatchSetTests {
  private let t: TreeFixture
  private var options = Batch.BackupOptions()

  init() throws {
    t = try TreeFixture()
    for index in 0..<20 {
      try t.file(PathBytes("d/f\(index)"), String(repeating: "content \(index)\n", count: 400))
      try t.setModified(PathBytes("d/f\(index)"), seconds: 1_000_000_000 + index)
    }
    options.stateDirectory = t.path("state")
    options.isSynced = false
  }

  private var set: PathBytes { t.path("set") }

  /// Makes snapshots, each with a changed file.
  private func backUp(_ count: Int) async throws -> [String] {
    var ids: [String] = []
    for index in 0..<count {
      try t.file("d/f3", String(repeating: "version \(index)\n", count: 300 + index))
      let report = try await Batch.backup([t.path("d")], to: set, options)
      ids.append(try #require(report.id))
    }
    return ids
  }

  private func code<Value>(_ body: () async throws(BatchError) -> Value) async -> BatchError.Code? {
    do throws(BatchError) {
      _ = try await body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test("a path is found in each snapshot, with its changes", arguments: [1, 7])
  func search(concurrency: Int) async throws {
    let ids = try await backUp(3)
    var options = Batch.SearchOptions()
    options.settings.concurrency = concurrency
    let changed = try await Batch.search(for: "f3", in: set, options)
    #expect(changed.count == 3 && changed.failures.isEmpty)
    #expect(changed.paths.map(\.snapshot) == ids)
    #expect(changed.paths.map(\.change) == [.first, .changed, .changed])
    let all = try await Batch.search(for: "f1*", in: set, options)
    #expect(all.count == 33)
    #expect(try await Batch.search(for: "nothing", in: set).count == 0)
    #expect(
      await code { () throws(BatchError) in try await Batch.search(for: "f3", in: t.path("d")) } == .missing)
  }

  @Test("a copy is complete, is not made twice, and can be restored")
  func copy() async throws {
    let ids = try await backUp(2)
    let remote = t.path("far")
    var options = Batch.CopyOptions()
    options.isSynced = false
    options.temporaryDirectory = t.root
    let first = try await Batch.copy(set, to: remote, options)
    #expect(first.snapshots == 2 && first.files >= 4 && first.problems == 0 && first.removed.isEmpty)
    options.comparesContents = true
    let second = try await Batch.copy(set, to: remote, options)
    #expect(second.files == 0 && second.equal == first.files)
    var restore = Batch.RestoreOptions()
    restore.snapshot = ids[0]
    let restored = try await Batch.restore(remote, into: t.path("out"), restore)
    #expect(restored.failures.isEmpty)
  }

  @Test("copies that no rule keeps are removed only if there is a rule")
  func keptCopies() async throws {
    let ids = try await backUp(3)
    var options = Batch.CopyOptions()
    options.isSynced = false
    options.temporaryDirectory = t.root
    options.keeping.last = 1
    let report = try await Batch.copy(set, to: t.path("far"), options)
    #expect(report.removed.allSatisfy { ids.contains($0) })
    #expect(report.problems == 0)
    #expect(t.names(in: "set").count { $0.bytes.suffix(13).elementsEqual(".manifest.zst".utf8) } == 3)
  }

  @Test("a whole snapshot is restored on trial, and damage is found")
  func drill() async throws {
    _ = try await backUp(1)
    var options = Batch.DrillOptions()
    options.share = 1
    options.temporaryDirectory = t.root
    let whole = try await Batch.drill(set, options)
    #expect(whole.isVerified && whole.damagedCount == 0)
    #expect(whole.files == 20 && whole.snapshot != nil)
    let archive = try #require(t.names(in: "set").first { $0.bytes.suffix(8).elementsEqual(".tar.zst".utf8) })
    let path = PathBytes("set/\(archive)")
    var bytes = try #require(t.content(path))
    for index in 200..<260 { bytes[index] ^= 0x55 }
    try t.file(path, bytes)
    let damaged = try await Batch.drill(set, options)
    #expect(!damaged.isVerified && damaged.damagedCount > 0)
    options.share = 0
    #expect(await code { () throws(BatchError) in try await Batch.drill(set, options) } == .invalid)
  }

  @Test("snapshots that no rule keeps are removed; without a rule none is")
  func prune() async throws {
    let ids = try await backUp(3)
    var options = Batch.PruneOptions()
    options.isSynced = false
    #expect(await code { () throws(BatchError) in try await Batch.prune(set, options) } == .invalid)
    options.last = 1
    options.isDryRun = true
    let planned = try await Batch.prune(set, options)
    #expect(Set(planned.kept + planned.removed) == Set(ids))
    #expect(try await Batch.search(for: "f3", in: set).count == 3)
    options.isDryRun = false
    let done = try await Batch.prune(set, options)
    #expect(done.removed == planned.removed && done.kept == planned.kept)
    #expect(done.kept.contains(ids[2]))
    #expect(try await Batch.search(for: "f3", in: set).count == done.kept.count)
  }
}
