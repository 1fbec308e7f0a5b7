import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// The calls that read archives and compressed files, or compare files, and write nothing.
@Suite(.timeLimit(.minutes(3))) struct BatchReadingTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("d/a", String(repeating: "one\n", count: 500))
    try t.file("d/b", String(repeating: "two\n", count: 700))
    try t.file("d/sub/c", String(repeating: "three\n", count: 900))
    try t.setModified("d/a", seconds: 1_000_000_000)
  }

  private var d: PathBytes { t.path("d") }

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

  private func damage(_ name: PathBytes) throws {
    var bytes = try #require(t.content(name))
    bytes[bytes.count / 2] ^= 0x55
    try t.file(name, bytes)
  }

  // MARK: Compressed files

  @Test("tests compressed files, and lists the damaged ones")
  func test() async throws {
    var compress = Batch.CompressOptions()
    compress.removesSources = true
    _ = try await Batch.compress([d], compress)
    try t.file("d/other.txt", "not compressed")
    let size = try ["d/a.gz", "d/b.gz", "d/sub/c.gz"].reduce(0) { $0 + (try t.path($1).status().size) }
    let good = try await Batch.test([d])
    #expect(good.isVerified && good.damaged == 0 && good.counts.done == 3 && good.size == size)
    #expect(good.withoutChecksum == 0 && good.unverified == 0)

    try damage("d/a.gz")
    try damage("d/sub/c.gz")
    let bad = try await Batch.test([d, t.path("none")])
    #expect(!bad.isVerified && bad.damaged == 2 && bad.counts.done == 3)
    #expect(bad.damagedFiles.map(\.path) == [t.path("d/a.gz"), t.path("d/sub/c.gz")])
    #expect(bad.damagedFiles.allSatisfy { !$0.reason.isEmpty })
    #expect(bad.failures.map(\.event) == [.missing])
    var options = Batch.TestOptions()
    options.settings.mostListed = 1
    let short = try await Batch.test([d], options)
    #expect(short.damaged == 2 && short.damagedFiles.count == 1)
    let missing = try await Batch.test([t.path("none")])
    #expect(!missing.isVerified && missing.counts.missing == 1)
  }

  @Test("gives the contents of compressed files to a closure, in the order of the tree")
  func cat() async throws {
    let expected = try ["d/a", "d/b", "d/sub/c"].flatMap { try #require(t.content($0)) }
    var compress = Batch.CompressOptions()
    compress.removesSources = true
    _ = try await Batch.compress([d], compress)
    let pieces = Recorder<[UInt8]>()
    let report = try await Batch.cat([d]) { pieces.record($0) }
    #expect(pieces.values.flatMap { $0 } == expected && report.bytes == UInt64(expected.count))
    #expect(report.counts.done == 3 && report.failures.isEmpty)

    var options = Batch.CatOptions()
    options.mostOutput = 3000
    let limited = try await Batch.cat([d], options) { _ in }
    #expect(limited.failures.map(\.error.path) == [t.path("d/sub/c.gz")])
    try damage("d/a.gz")
    let damaged = try await Batch.cat([t.path("d/a.gz")]) { _ in }
    #expect(damaged.counts.failed == 1 && damaged.failures.map(\.error.code) == [.malformed])
  }

  /// These codes have meanings for the run when they come from a file.
  @Test(
    "the error of a closure ends a call, which throws it",
    arguments: [BatchError.Code.invalid, .exhausted, .changed, .unwritable])
  func catEnds(code: BatchError.Code) async throws {
    _ = try await Batch.compress([d])
    _ = try await Batch.archive([d], to: t.path("d.tar"))
    let error = BatchError(code, "the disk of the closure is full")
    let calls = Recorder<Int>()
    let write = { @Sendable (bytes: [UInt8]) throws(BatchError) in
      calls.record(bytes.count)
      throw error
    }
    let ofFiles = await #expect(throws: BatchError.self) {
      try await Batch.cat([d]) { (bytes) throws(BatchError) in try write(bytes) }
    }
    let ofMembers = await #expect(throws: BatchError.self) {
      try await Batch.cat(membersOf: t.path("d.tar")) { (bytes) throws(BatchError) in try write(bytes) }
    }
    #expect(ofFiles == error && ofMembers == error && calls.count == 2)
  }

  @Test("a call that is cancelled gives no further content")
  func catIsCancelled() async throws {
    _ = try await Batch.compress([d])
    let (d, begun, cancelled, pieces) = (d, Gate(), Gate(), Recorder<Int>())
    let task = Task {
      try await Batch.cat([d]) { bytes in
        pieces.record(bytes.count)
        begun.open()
        cancelled.pass()
      }
    }
    try await onThread { begun.pass() }
    task.cancel()
    cancelled.open()
    let report = try await task.value
    #expect(report.isCancelled && pieces.values == [2000] && report.bytes == 2000)
  }

  // MARK: Archives

  @Test("gives the contents of members to a closure", arguments: ["d.tar.zst", "d.zip"])
  func catMembers(name: PathBytes) async throws {
    _ = try await Batch.archive([d], to: t.path(name))
    let pieces = Recorder<[UInt8]>()
    var options = Batch.CatMembersOptions()
    options.patterns = ["*/sub", "*/b", "none"]
    let report = try await Batch.cat(membersOf: t.path(name), options) { pieces.record($0) }
    let expected = (t.content("d/b") ?? []) + (t.content("d/sub/c") ?? [])
    #expect(pieces.values.flatMap { $0 } == expected && report.bytes == UInt64(expected.count))
    #expect(report.unmatched == ["none"] && !report.isDamaged && !report.isCutShort)

    options = Batch.CatMembersOptions()
    options.limits = ArchiveLimits(maximumOutput: 100)
    let limited = try await Batch.cat(membersOf: t.path(name), options) { _ in }
    #expect(limited.failures.map(\.error.code) == [.exhausted])
    try t.file("none", "no archive")
    let none = try await Batch.cat(membersOf: t.path("none")) { _ in }
    #expect(none.bytes == 0 && none.counts.failed == 1)
  }

  @Test("lists the members of an archive", arguments: ["d.tar.zst", "d.tar", "d.zip"])
  func list(name: PathBytes) async throws {
    try t.symbolicLink("d/link", to: "a")
    try t.setMode("d/a", 0o640)
    let archive = t.path(name)
    let isZip = name == "d.zip"
    _ = try await Batch.archive([d], to: archive)
    let prefix = PathBytes(d.bytes.dropFirst())
    func member(_ name: String) -> PathBytes { prefix.appending(name.utf8) }
    let each = Recorder<Batch.Member>()
    var options = Batch.ListOptions()
    options.readsHeaders = true
    options.readsDigests = true
    let report = try await Batch.list(archive, options) { each.record($0) }
    #expect(report.files == 3 && report.bytes == 10_200 && report.failures.isEmpty)
    #expect(report.members == each.values && report.counts.done == each.count)
    #expect(!report.isDamaged && !report.isCutShort && report.unmatched.isEmpty)
    let found = Dictionary(uniqueKeysWithValues: each.values.map { ($0.path, $0) })
    let a = try #require(found[member("a")])
    let digest = try Digest.sha256(of: try #require(t.content("d/a")))
    #expect(a.kind == .file && a.size == 2000 && a.mode == 0o640 && a.digest == digest)
    #expect(a.modified == FileStatus.Time(seconds: 1_000_000_000, nanoseconds: 0))
    #expect(!a.hasChanged && !a.isIncomplete && a.linkTarget == nil)
    #expect(found[member("sub")]?.kind == .folder)
    if !isZip {
      #expect(found[member("link")]?.kind == .symbolicLink && found[member("link")]?.linkTarget == "a")
      #expect(a.owner == (try t.path("d/a").status().owner))
    }

    options = Batch.ListOptions()
    options.patterns = ["*/sub", "none"]
    options.settings.mostListed = 1
    let chosen = try await Batch.list(archive, options)
    #expect(chosen.members.map(\.path) == [member("sub")] && chosen.files == 1 && chosen.others == 1)
    #expect(chosen.unmatched == ["none"])
  }

  @Test("a list says that the archive is damaged, and refuses what is not an archive")
  func listOfDamage() async throws {
    _ = try await Batch.archive([d], to: t.path("d.tar"))
    let bytes = try #require(t.content("d.tar"))
    try t.file("cut.tar", bytes.prefix(3000))
    let cut = try await Batch.list(t.path("cut.tar"))
    #expect(cut.isCutShort && cut.counts.failed > 0)
    try t.file("none", "no archive")
    let (none, missing) = (t.path("none"), t.path("missing"))
    #expect(await code { () throws(BatchError) in try await Batch.list(none) } == .malformed)
    #expect(await code { () throws(BatchError) in try await Batch.list(missing) } == .missing)
  }

  // MARK: Comparisons

  @Test("finds files with equal content")
  func duplicates() async throws {
    for name: PathBytes in ["d/a2", "d/sub/a3", "d/sub/c2"] {
      try t.file(name, t.content(name.bytes.contains(UInt8(ascii: "c")) ? "d/sub/c" : "d/a") ?? [])
    }
    try t.file("d/e", "")
    try t.file("d/e2", "")
    let each = Recorder<Batch.DuplicateFiles>()
    let report = try await Batch.duplicates([d, t.path("none")]) { each.record($0) }
    #expect(report.groupCount == 2 && report.surplusFiles == 3 && report.surplusBytes == 2 * 2000 + 5400)
    #expect(
      report.groups.map(\.paths) == [
        ["d/sub/c", "d/sub/c2"].map { t.path($0) }, ["d/a", "d/a2", "d/sub/a3"].map { t.path($0) },
      ] || report.groups.map(\.count) == [2, 3])
    #expect(report.groups == each.values && report.failures.map(\.event) == [.missing])
    let digest = try Digest.sha256(of: try #require(t.content("d/a")))
    #expect(report.groups.last?.digest == digest && report.groups.last?.size == 2000)

    var options = Batch.DuplicatesOptions()
    options.settings.mostListed = 1
    let short = try await Batch.duplicates([d], options)
    #expect(short.groupCount == 2 && short.groups.map(\.count) == [2] && short.groups[0].paths.count == 1)
    #expect(t.names(in: "d/sub") == ["a3", "c", "c2"] && short.folders.isEmpty)

    for name: PathBytes in ["d2/a2", "d2/sub/a3", "d2/sub/c", "d2/sub/c2"] {
      try t.file(name, t.content(PathBytes(Array("d".utf8) + name.bytes.dropFirst(2))) ?? [])
    }
    options.settings.mostListed = 10
    options.comparesFolders = true
    let folders = try await Batch.duplicates([d, t.path("d2")], options)
    #expect(
      folders.folderGroupCount == 1 && folders.folders.map(\.paths) == [[t.path("d/sub"), t.path("d2/sub")]])
    #expect(folders.folders.first?.fileCount == 3 && folders.folders.first?.size == 2000 + 2 * 5400)
    // The group with the files that lie in both folders alone is not listed.
    #expect(folders.groups.map(\.count) == [5])
  }

  @Test("compares a folder with a manifest and with an archive")
  func audit() async throws {
    var hash = Batch.HashOptions()
    hash.manifest = t.path("sums")
    _ = try await Batch.hash([d], hash)
    _ = try await Batch.archive([d], to: t.path("d.tar.zst"))
    let same = try await Batch.audit(t.path("sums"), against: d)
    #expect(same.isVerified && same.same == 3 && same.recorded == 3 && same.compared == 3)

    try t.rename("d/b", to: "d/moved")
    try t.file("d/a", "other")
    try t.file("d/new", "new")
    let kinds: [Batch.AuditedPaths.Difference.Kind: Int] = [.modified: 1, .moved: 1, .new: 1]
    let changed = try await Batch.audit(t.path("sums"), against: d)
    #expect(!changed.isVerified && changed.differenceCounts == kinds && changed.same == 1)
    let moved = try #require(changed.differences.first { $0.kind == .moved })
    #expect(moved.path.lastComponent.elementsEqual("moved".utf8))
    #expect(moved.origin?.lastComponent.elementsEqual("b".utf8) == true)
    var options = Batch.AuditOptions()
    options.settings.mostListed = 1
    let archive = try await Batch.audit(t.path("d.tar.zst"), against: d, options)
    #expect(archive.differenceCounts[.modified] == 1 && archive.differences.count == 1)
    let both = try await Batch.audit(t.path("sums"), against: t.path("d.tar.zst"))
    #expect(both.isVerified && both.same == 3)
  }

  @Test("an audit refuses what is missing, what is damaged, and a folder of snapshots")
  func auditRefuses() async throws {
    var backup = Batch.BackupOptions()
    backup.stateDirectory = t.state
    _ = try await Batch.backup([d], to: t.path("set"), backup)
    _ = try await Batch.archive([d], to: t.path("d.tar.gz"))
    try t.file("cut.tar.gz", (t.content("d.tar.gz") ?? []).prefix(100))
    let (d, t) = (d, t)
    for (record, expected): (PathBytes, BatchError.Code) in [
      ("none", .missing), ("cut.tar.gz", .malformed), ("set", .invalid),
    ] {
      let found = await code { () throws(BatchError) in
        try await Batch.audit(t.path(record), against: d)
      }
      #expect(found == expected, "\(record)")
    }
  }
}
