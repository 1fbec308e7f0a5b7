import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Writes through a shared mapping, which change no time while the page is dirty, are found by the next run.
@Suite struct MappedWriteTests {
  /// A page of a file that is written to through a mapping.
  private final class Mapping {
    private let memory: UnsafeMutableRawPointer

    init(_ path: PathBytes) throws {
      let file = path.withCString { Glibc.open($0, O_RDWR) }
      try #require(file >= 0)
      defer { close(file) }
      let mapped = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
      memory = try #require(mapped != MAP_FAILED ? mapped : nil)
    }

    deinit { munmap(memory, 4096) }

    func write(_ text: String) { memory.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count) }
  }

  private let t: TreeFixture
  /// Ten seconds later than the files.
  private let clock: @Sendable () -> FileStatus.Time = {
    let now = Clock.now(CLOCK_REALTIME)
    return FileStatus.Time(seconds: now.seconds + 10, nanoseconds: now.nanoseconds)
  }

  init() throws {
    t = try TreeFixture(on: .disk)
    try t.file("live/file", size: 4096)
    try t.folder("caches")
    try t.setMode("caches", 0o700)
  }

  private func hash(_ concurrency: Int) throws -> (rows: String, known: Int) {
    let cache = try DigestCache(in: t.path("caches"), verifiedShare: 0, calls: RunContext().calls, now: clock)
    { _ in }
    let rows = Mutex([UInt8]())
    let job = HashJob(algorithms: [.sha256], cache: cache) { (row, bytes) throws(BatchError) in
      row.digests[0].appendHex(to: &bytes)
      bytes.append(UInt8(ascii: " "))
    } output: { results in
      rows.withLock { $0 += results.bytes }
    }
    var options = BatchOptions()
    options.concurrency = concurrency
    let runner = BatchRunner(options: options)
    _ = try #require(runner.run(job, over: runner.tree([t.path("live")])).result)
    #expect(cache.finish() == nil)
    return (String(decoding: rows.withLock { $0 }, as: UTF8.self), cache.knownCount)
  }

  /// On other file systems a sync does not help.
  private static let isOnDisk: Bool = {
    let folder = Place.disk.folder.withCString { open($0, O_RDONLY | O_DIRECTORY) }
    defer { close(folder) }
    return LinuxCalls().fileSystemType(of: folder).map(ChangeSettling.syncable.contains) ?? false
  }()

  @Test("hash --cache shows the new digest", .enabled(if: isOnDisk), arguments: [1, 2, 7, 32])
  func cache(concurrency: Int) throws {
    // Two hundred files more, so that the whole file system is synced.
    let mapping = try Mapping(t.path("live/file"))
    for many in [0, 200] {
      for number in 0..<many { try t.file(PathBytes("live/a\(number)"), size: 10) }
      mapping.write("good")
      let before = try hash(concurrency)
      #expect(try hash(concurrency).known == many + 1)
      mapping.write("evil")
      let after = try hash(concurrency)
      #expect(after.rows != before.rows)
      #expect(after.known == many)
    }
  }

  @Test("a backup has the new content", .enabled(if: isOnDisk), arguments: [1, 2, 7, 32])
  func backup(concurrency: Int) throws {
    let set = try BackupSet(in: t.path("set"), named: "s")
    func backUp(day: Int) throws -> [String] {
      var batch = BatchOptions()
      batch.concurrency = concurrency
      let run = RunContext(options: batch)
      var options = BackupOptions()
      options.isSynced = false
      options.now = { FileStatus.Time(seconds: 1_760_000_000 + Int64(day) * 86_400, nanoseconds: 0) }
      options.fileClock = clock
      let backup = try BackupRun([t.path("live")], to: set, options: options, in: run) { _ in }
      var walk = WalkOptions()
      walk.takesEverything = true
      _ = try #require(BatchRunner(run).run(backup.job, over: try backup.source(walk, in: run)).result)
      try backup.complete()
      let snapshot = try #require(try set.content(in: run).snapshots.last)
      let reader = try SnapshotReader(set.path(snapshot.name.manifest), in: run)
      var rows = [String]()
      while let item = try reader.next() {
        guard case .entry(let entry, _) = item, entry.kind == .file else { continue }
        rows.append("\(entry.digest?.hex ?? "") \(entry.archive) \(entry.isUnsettled)")
      }
      return rows
    }
    let mapping = try Mapping(t.path("live/file"))
    mapping.write("good")
    let first = try backUp(day: 0)
    #expect(first.count == 1 && first[0].hasSuffix("false"))
    #expect(try backUp(day: 1) == first)
    mapping.write("evil")
    #expect(try backUp(day: 2)[0].prefix(64) != first[0].prefix(64))
  }
}
