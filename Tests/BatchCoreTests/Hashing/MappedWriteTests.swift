import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Writes through a shared mapping do not change a file's time while the page is dirty; the next run must
/// find them.
@Suite struct MappedWriteTests {
  /// A page of a file that is mapped for writing.
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
  /// Ten seconds after the times of the files.
  private let clock: @Sendable () -> FileStatus.Time = {
    let now = FileStatus.Time.now
    return FileStatus.Time(seconds: now.seconds + 10, nanoseconds: now.nanoseconds)
  }

  init() throws {
    t = try TreeFixture(on: .disk)
    try t.file("live/file", size: 4096)
    try t.folder("caches")
    try t.setMode("caches", 0o700)
  }

  private func hash(
    _ concurrency: Int, _ calls: FaultyCalls = FaultyCalls(), _ algorithm: DigestAlgorithm = .sha256
  ) throws -> (rows: String, known: Int) {
    let cache = try DigestCache(in: t.path("caches"), verifiedShare: 0, calls: calls, now: clock) { _ in }
    let rows = Mutex([UInt8]())
    let job = HashJob(algorithms: [algorithm], cache: cache) { (row, bytes) throws(BatchError) in
      row.digests[0].appendHex(to: &bytes)
      bytes.append(UInt8(ascii: " "))
    } output: { results in
      rows.withLock { $0 += results.bytes }
    }
    var options = BatchOptions()
    options.concurrency = concurrency
    let runner = BatchRunner(RunContext(options: options, calls: calls))
    _ = try #require(runner.run(job, over: runner.tree([t.path("live")])).result)
    #expect(cache.finish() == nil)
    return (String(decoding: rows.withLock { $0 }, as: UTF8.self), cache.knownCount)
  }

  /// A row for each file: its digest, its archive, and whether it is unsettled.
  private func backUp(day: Int, _ concurrency: Int, _ calls: FaultyCalls = FaultyCalls()) throws -> [String] {
    let set = try BackupSet(in: t.path("set"), named: "s")
    var batch = BatchOptions()
    batch.concurrency = concurrency
    let run = RunContext(options: batch, calls: calls)
    var options = BackupOptions()
    options.isSynced = false
    options.now = { FileStatus.Time(seconds: 1_760_000_000 + Int64(day) * 86_400, nanoseconds: 0) }
    options.fileClock = clock
    let backup = try BackupRun.prepare([t.path("live")], to: set, options: options, in: run) { _ in }
    var walk = WalkOptions()
    walk.takesEverything = true
    let content = try #require(
      BatchRunner(run).run(backup.job, over: try backup.preparation.source(walk, in: run)).result)
    try backup.complete(content)
    let snapshot = try #require(try set.content(in: run).snapshots.last)
    let reader = try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
    var rows = [String]()
    while let item = try reader.next() {
      guard case .entry(let entry, _) = item, entry.kind == .file else { continue }
      rows.append("\(entry.digest?.hex ?? "") \(entry.archive) \(entry.isUnsettled)")
    }
    return rows
  }

  /// Neither a lease nor a sync helps on other file systems.
  private static let isOnDisk: Bool = {
    let folder = Place.disk.folder.withCString { open($0, O_RDONLY | O_DIRECTORY) }
    defer { close(folder) }
    return LinuxCalls().fileSystemType(of: folder).map(ChangeSettling.leasable.contains) ?? false
  }()

  @Test("hash --cache shows the new digest", .enabled(if: isOnDisk), arguments: [1, 2, 7, 32])
  func cache(concurrency: Int) throws {
    let mapping = try Mapping(t.path("live/file"))
    // With 200 more files whose leases are refused, the whole file system is synced once.
    for many in [0, 200] {
      for number in 0..<many { try t.file(PathBytes("live/a\(number)"), size: 10) }
      let calls = FaultyCalls()
      if many > 0 { calls.on(.lease, nil, .fail(EACCES)) }
      mapping.write("good")
      let before = try hash(concurrency, calls)
      #expect(calls.count(of: .syncFileSystem, "") == (many > 0 ? 1 : 0))
      #expect(try hash(concurrency, calls).known == many + 1)
      mapping.write("evil")
      let after = try hash(concurrency, calls)
      #expect(after.rows != before.rows)
      #expect(after.known == many)
    }
  }

  @Test("a backup has the new content", .enabled(if: isOnDisk), arguments: [1, 2, 7, 32])
  func backup(concurrency: Int) throws {
    let mapping = try Mapping(t.path("live/file"))
    mapping.write("good")
    let first = try backUp(day: 0, concurrency)
    #expect(first.count == 1 && first[0].hasSuffix("false"))
    #expect(try backUp(day: 1, concurrency) == first)
    mapping.write("evil")
    #expect(try backUp(day: 2, concurrency)[0].prefix(64) != first[0].prefix(64))
  }

  @Test(
    "a dirty page of a writer that has ended is not synced, and a later write to it is found",
    .enabled(if: isOnDisk), arguments: [1, 7])
  func laterWriter(concurrency: Int) throws {
    try Mapping(t.path("live/file")).write("good")
    let calls = FaultyCalls()
    let (before, first) = (try hash(concurrency, calls), try backUp(day: 0, concurrency, calls))
    #expect(try hash(concurrency, calls).known == 1)
    #expect(try backUp(day: 1, concurrency, calls) == first && first[0].hasSuffix("false"))
    #expect(calls.count(of: .lease, "file") == 2 && calls.count(of: .sync, "file") == 0)
    try Mapping(t.path("live/file")).write("evil")
    #expect(try hash(concurrency, calls).rows != before.rows)
    #expect(try backUp(day: 2, concurrency, calls)[0].prefix(64) != first[0].prefix(64))
  }

  /// Files of all kinds of content: small, of several buffers, of several blocks, sparse, and with two names.
  private func contents() throws {
    try t.file("live/middle", size: 1 << 20)
    try t.file("live/large", size: 40 << 20)
    try t.file("live/sparse", size: 4096)
    try #require(t.path("live/sparse").withCString { truncate($0, 1 << 20) } == 0)
    try #require(
      t.path("live/file").withCString { file in t.path("live/second").withCString { link(file, $0) } } == 0)
  }

  @Test(
    "each kind of file that a program may write to and that cannot be synced is archived again",
    .enabled(if: isOnDisk), arguments: [1, 2, 7, 32])
  func unsettled(concurrency: Int) throws {
    try contents()
    let calls = FaultyCalls()
    calls.on(.lease, nil, .fail(EAGAIN))
    for name in ["file", "second", "middle", "large", "sparse"] {
      calls.on(.sync, PathBytes(name), .fail(EIO))
    }
    let rows = try backUp(day: 0, concurrency, calls)
    #expect(rows.count == 5 && rows.allSatisfy { $0.hasSuffix("true") }, "\(rows)")
    let next = try backUp(day: 1, concurrency)
    #expect(next.allSatisfy { $0.hasSuffix("false") } && Set(next).isDisjoint(with: rows), "\(next)")
    #expect(try backUp(day: 2, concurrency) == next)
  }

  @Test(
    "a large file is archived again when a program may have written to one block of it",
    .enabled(if: isOnDisk))
  func block() throws {
    try t.file("live/large", size: 40 << 20)
    for turn in 1...3 {
      let calls = FaultyCalls()
      calls.on(.lease, "large", turns: turn...turn, .fail(EAGAIN))
      calls.on(.sync, "large", .fail(EIO))
      // A further snapshot of a set would read the file as a whole, to compare it.
      if turn > 1 { try t.removeTree("set") }
      #expect(try backUp(day: turn, 1, calls).map { $0.hasSuffix("true") } == [false, true])
    }
  }

  @Test(
    "the lease is requested before the content is read", .enabled(if: isOnDisk),
    arguments: [DigestAlgorithm.sha256, .blake3])
  func order(algorithm: DigestAlgorithm) throws {
    try contents()
    let steps = Mutex([String]())
    let calls = FaultyCalls()
    for name in ["file", "middle", "large", "sparse"] {
      for (call, word) in [(FaultyCalls.Call.lease, "lease"), (.read, "read")] {
        calls.on(call, PathBytes(name), .before { steps.withLock { $0.append("\(word) \(name)") } })
      }
    }
    _ = try hash(1, calls, algorithm)
    _ = try backUp(day: 0, 1, calls)
    let all = steps.withLock { $0 }
    for name in ["file", "middle", "large", "sparse"] {
      let own = all.filter { $0.hasSuffix(name) }
      #expect(own.first == "lease \(name)" && own.contains("read \(name)"), "\(own.prefix(5))")
    }
  }
}
