import BatchEngine
import Glibc
import TestSupport
import Testing

@testable import BatchCore

/// Which cache database is used, and for which files.
@Suite struct DigestCacheTests {
  private let t: TreeFixture
  private var caches: PathBytes { t.path("caches") }

  init() throws {
    t = try TreeFixture()
    try t.folder("caches")
    try t.setMode("caches", 0o700)
  }

  private func refusal(_ trust: TrustedFile = TrustedFile(calls: LinuxCalls())) -> BatchError? {
    do throws(BatchError) {
      _ = try DigestCache(in: caches, verifiedShare: 0, calls: RunContext().calls, trust: trust) { _ in }
      return nil
    } catch {
      return error
    }
  }

  @Test("the folders are made, and a link to the folder of caches that belongs to the user is followed")
  func made() throws {
    try t.removeTree("caches")
    #expect(refusal() == nil)
    try t.rename("caches", to: "elsewhere")
    try t.symbolicLink("caches", to: "elsewhere")
    #expect(refusal() == nil)
    #expect(t.names(in: "elsewhere/batchproc").contains("digests.sqlite"))
  }

  @Test(
    "a database is not used when other users may write to it or its folders",
    arguments: ["", "caches", "caches/batchproc", "caches/batchproc/digests.sqlite"] as [PathBytes])
  func writable(name: PathBytes) throws {
    try #require(refusal() == nil)
    try t.setMode(name, 0o777)
    #expect(refusal()?.path == t.path(name))
    #expect(refusal()?.message == "is refused, since other users may write to it")
    try t.setMode(name, 0o700)
    #expect(refusal() == nil)
  }

  @Test("the folder above the caches may be writable for all users if it is sticky, like /tmp")
  func sticky() throws {
    try t.setMode("", 0o1777)
    #expect(refusal() == nil)
    try t.setMode("caches", 0o1777)
    #expect(refusal()?.path == caches)
  }

  @Test(
    "a database is not used when it or its folders belong to another user", .enabled(if: geteuid() == 0),
    arguments: ["", "caches", "caches/batchproc", "caches/batchproc/digests.sqlite"] as [PathBytes])
  func foreign(name: PathBytes) throws {
    try #require(refusal() == nil)
    _ = t.path(name).withCString { chown($0, 4321, 4321) }
    #expect(refusal()?.path == t.path(name))
    #expect(refusal()?.message == "is refused, since it belongs to another user")
    #expect(refusal(TrustedFile(user: 4321, calls: LinuxCalls())) == nil)
  }

  @Test("a link that belongs to another user is not followed", .enabled(if: geteuid() == 0))
  func foreignLink() throws {
    try t.rename("caches", to: "elsewhere")
    try t.symbolicLink("caches", to: "elsewhere")
    _ = caches.withCString { lchown($0, 4321, 4321) }
    #expect(refusal()?.path == caches)
    #expect(t.names(in: "elsewhere").isEmpty)
  }

  @Test(
    "a link in the place of the folder or of a database file is not followed",
    arguments: [
      "", "/digests.sqlite", "/digests.sqlite-wal", "/digests.sqlite-shm", "/digests.sqlite-journal",
    ])
  func links(suffix: String) throws {
    try t.folder("elsewhere")
    let name = PathBytes("caches/batchproc" + suffix)
    if suffix.isEmpty {
      try t.symbolicLink(name, to: "../elsewhere")
    } else {
      try t.folder("caches/batchproc")
      try t.setMode("caches/batchproc", 0o700)
      try t.symbolicLink(name, to: "../../elsewhere/made")
    }
    #expect(refusal()?.path == t.path(name))
    #expect(refusal()?.message.hasPrefix("is a symbolic link") == true)
    #expect(t.names(in: "elsewhere").isEmpty)
  }

  @Test("a digest that waited long enough is stored before the end of the run", arguments: [true, false])
  func waiting(isLong: Bool) throws {
    let cache = try DigestCache(
      in: caches, verifiedShare: 0, calls: RunContext().calls, longestWait: isLong ? .zero : .seconds(3600)
    ) { _ in }
    let digest = try DigestStream(.xxh128).finish()
    let table = DigestCache.table(of: .xxh128, on: "d1")
    cache.add(table, FileStatus(stat()), digest)
    // Another run sees it, as after a kill of this one.
    let file = try SQLiteFile(cache.path)
    #expect(try file.hasTable(table) == isLong)
    #expect(cache.finish() == nil)
    #expect(try file.hasTable(table))
  }

  @Test("a row with an impossible value is not used")
  func extremes() throws {
    let digest = try DigestStream(.xxh128).finish()
    let status = FileStatus(stat())
    let good = CachedDigest(status, digest).bytes
    #expect(good.withUnsafeBytes { CachedDigest($0, .xxh128) } != nil)
    for (offset, value) in [(7, 0x80), (27, 0x7f), (27, 0xff), (31, 0x7f), (31, 0x80)] as [(Int, UInt8)] {
      var bad = good
      bad[offset] = value
      #expect(bad.withUnsafeBytes { CachedDigest($0, .xxh128) } == nil)
    }
    #expect(good.dropLast().withUnsafeBytes { CachedDigest($0, .xxh128) } == nil)
  }
}
