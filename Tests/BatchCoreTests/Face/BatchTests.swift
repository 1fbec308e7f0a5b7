import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// What each public call does and reports.
@Suite(.timeLimit(.minutes(3))) struct BatchTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("d/a.txt", String(repeating: "one\n", count: 500))
    try t.file("d/b.txt", String(repeating: "two\n", count: 700))
    try t.file("d/sub/c.txt", String(repeating: "three\n", count: 900))
  }

  private var d: PathBytes { t.path("d") }

  @Test func compressesAndDecompresses() async throws {
    var options = Batch.CompressOptions()
    options.format = .zst
    options.level = 9
    let report = try await Batch.compress([d], options)
    #expect(report.written == 3 && report.counts.done == 3 && report.failures.isEmpty && !report.isCancelled)
    #expect(report.bytesRead == 500 * 4 + 700 * 4 + 900 * 6 && report.bytesWritten < 1000)
    #expect(
      report.outputs.map(\.path)
        == ["a.txt.zst", "b.txt.zst", "sub/c.txt.zst"].map { d.appending(PathBytes($0).bytes) })
    #expect(report.outputs.first?.source == t.path("d/a.txt") && report.outputs.first?.sourceSize == 2000)
    let again = try await Batch.compress([t.path("d/a.txt")], options)
    #expect(again.written == 0 && again.upToDate == 1 && again.counts.skipped == 1)

    try t.remove("d/a.txt")
    var back = Batch.DecompressOptions()
    back.outputDirectory = t.path("back")
    let decompressed = try await Batch.decompress([d], back)
    #expect(decompressed.written == 3)
    let copy = try #require(decompressed.outputs.first { $0.source == t.path("d/a.txt.zst") })
    #expect(t.content(PathBytes(copy.path.bytes.dropFirst(t.root.bytes.count + 1)))?.count == 2000)
  }

  @Test func removesSourcesAndMirrors() async throws {
    var options = Batch.CompressOptions()
    options.removesSources = true
    options.suffix = ".packed"
    let report = try await Batch.compress([t.path("d/sub")], options)
    #expect(report.written == 1 && t.names(in: "d/sub") == ["c.txt.packed"])
    options.suffix = "a/b"
    let error = await #expect(throws: BatchError.self) { try await Batch.compress([d], options) }
    #expect(error?.code == .invalid)
    #expect(t.names(in: "d") == ["a.txt", "b.txt", "sub"])
  }

  @Test func hashesInTheOrderOfTheTree() async throws {
    var options = Batch.HashOptions()
    options.algorithms = [.sha256, .crc32]
    options.manifest = t.path("sums")
    let files = Recorder<Batch.HashedFile>()
    let report = try await Batch.hash([d], options) { files.record($0) }
    #expect(report.counts.done == 3)
    #expect(files.values.map(\.path) == ["d/a.txt", "d/b.txt", "d/sub/c.txt"].map { t.path($0) })
    let first = try #require(files.values.first)
    let modified = try t.path("d/a.txt").status(followingLinks: true).modified
    #expect(first.size == 2000 && first.modified == modified)
    #expect(first.digests.map(\.algorithm) == [.sha256, .crc32])
    let expected = first.digests.map { "\($0.hex)  \(first.path)" }
    #expect(t.text("sums")?.split(separator: "\n").prefix(2).map(String.init) == expected)

    // The rows are the same when the files are not handed out.
    options.manifest = t.path("again")
    _ = try await Batch.hash([d], options)
    #expect(t.content("again") == t.content("sums"))
  }

  @Test func checksManifests() async throws {
    var options = Batch.HashOptions()
    options.manifest = t.path("sums")
    _ = try await Batch.hash([d], options)
    let good = try await Batch.check([t.path("sums")])
    #expect(good.isVerified && good.matches == 3 && good.differences.isEmpty)

    try t.file("d/a.txt", String(repeating: "One\n", count: 500))
    try t.remove("d/b.txt")
    let bad = try await Batch.check([t.path("sums")])
    #expect(!bad.isVerified && bad.matches == 1 && bad.different == 1 && bad.missing == 1)
    #expect(bad.differences == [t.path("d/a.txt")])
    #expect(bad.failures.map(\.event) == [.missing] && bad.failures.first?.error.path == t.path("d/b.txt"))
  }

  @Test func archivesVerifiesAndExtracts() async throws {
    let archive = t.path("made/d.tar.zst")
    let written = try await Batch.archive([d], to: archive)
    #expect(written.files == 3 && written.others == 2 && written.bytes == 10_200)
    let size = try archive.status(followingLinks: true).size
    #expect(written.size == size)

    let verified = try await Batch.verify(archive)
    #expect(verified.isVerified && verified.counts.done == 5 && verified.indexDigest != nil)

    var options = Batch.ExtractOptions()
    options.patterns = ["*.txt"]
    options.strippedNames = d.bytes.split(separator: UInt8(ascii: "/")).count
    let extracted = try await Batch.extract(archive, into: t.path("out"), options)
    #expect(extracted.files == 3 && extracted.bytes == 10_200 && extracted.unmatched.isEmpty)
    #expect(t.content("out/sub/c.txt") == t.content("d/sub/c.txt"))

    var against = Batch.VerifyOptions()
    against.directory = "/"
    try t.file("d/a.txt", "changed")
    let differing = try await Batch.verify(archive, against)
    #expect(!differing.isVerified && differing.damage.isEmpty)
    #expect(differing.differences.map(\.kind) == [.modified])
    #expect(differing.differenceCount == 1)
  }

  @Test func findsDamage() async throws {
    let archive = t.path("d.tar.gz")
    _ = try await Batch.archive([d], to: archive)
    var bytes = try #require(t.content("d.tar.gz"))
    bytes[bytes.count / 4] ^= 1
    try t.file("bad.tar.gz", bytes)
    let verified = try await Batch.verify(t.path("bad.tar.gz"))
    #expect(!verified.isVerified && verified.damagedMembers + verified.damage.count > 0)
    let extracted = try await Batch.extract(t.path("bad.tar.gz"), into: t.path("out"))
    #expect(extracted.isDamaged && !extracted.failures.isEmpty)
    try t.file("none", "no archive")
    let none = try await Batch.verify(t.path("none"))
    #expect(!none.isVerified && none.damage.count == 1)
  }

  @Test func anArchiveWithAMemberThatCannotBeReadIsNotVerified() async throws {
    _ = try await Batch.archive([d], to: t.path("d.zip"))
    #expect(try await Batch.verify(t.path("d.zip")).isVerified)
    var bytes = try #require(t.content("d.zip"))
    // Marks the first file as encrypted, in both of its headers.
    let name = Array("a.txt".utf8)
    for place in bytes.indices.dropLast(name.count) where bytes[place...].starts(with: name) {
      let start = try #require((0..<place).last { bytes[$0...].starts(with: Array("PK".utf8)) })
      bytes[start + (bytes[start + 2] == 3 ? 6 : 8)] |= 1
    }
    try t.file("e.zip", bytes)
    let verified = try await Batch.verify(t.path("e.zip"))
    #expect(verified.damagedMembers == 0 && verified.damage.isEmpty && verified.counts.failed == 1)
    #expect(!verified.isVerified)
  }

  @Test func transformsWithAClosure() async throws {
    try t.file("d/bad.txt", "refused")
    var options = Batch.TransformOptions(suffix: ".up")
    options.sizeLimit = 4000
    let report = try await Batch.transform([d], options) { (bytes) throws(BatchError) in
      if bytes == Array("refused".utf8) { throw BatchError(.malformed, "is refused") }
      return bytes.map { $0 == UInt8(ascii: "o") ? UInt8(ascii: "0") : $0 }
    }
    #expect(report.written == 2 && report.bytesRead == 4800 && report.bytesWritten == 4800)
    #expect(t.text("d/b.txt.up") == String(repeating: "tw0\n", count: 700))
    #expect(report.failures.map(\.error.code) == [.malformed, .exhausted])
    #expect(report.failures.map(\.error.path) == [t.path("d/bad.txt"), t.path("d/sub/c.txt")])
    let again = try await Batch.transform([d], options) { $0 }
    #expect(again.written == 1 && again.upToDate == 2, "outputs are no sources")
  }

  @Test func aPathThatIsOneDashIsAFile() async throws {
    let report = try await Batch.compress(["-"])
    #expect(report.written == 0 && report.counts.missing == 1)
    #expect(report.failures.map(\.error.path) == ["./-"])
  }

  @Test func aProblemOfOnePathIsInTheReport() async throws {
    var options = Batch.CompressOptions()
    options.settings.mostListed = 2
    let missing = (0..<5).map { t.path(PathBytes("none\($0)")) }
    let report = try await Batch.compress(missing + [t.path("d/a.txt")], options)
    #expect(report.written == 1 && report.counts.failed == 5 && report.counts.missing == 5)
    #expect(report.failures.map(\.event) == [.missing, .missing])
    #expect(report.failures.map(\.error.path) == missing.prefix(2).map { $0 })
  }

  @Test func anErrorThatEndsACallIsThrownAsBatchError() async throws {
    func code(_ body: () async throws(BatchError) -> Void) async -> BatchError.Code? {
      do throws(BatchError) {
        try await body()
        return nil
      } catch {
        return error.code
      }
    }
    let (d, t) = (d, t)
    var level = Batch.CompressOptions()
    level.level = 99
    #expect(await code { () throws(BatchError) in _ = try await Batch.compress([d], level) } == .invalid)
    var digests = Batch.HashOptions()
    digests.algorithms = []
    #expect(await code { () throws(BatchError) in _ = try await Batch.hash([d], digests) } == .invalid)
    #expect(
      await code { () throws(BatchError) in _ = try await Batch.archive([d], to: t.path("x.foo")) }
        == .invalid)
    try t.file("there.tar", "kept")
    #expect(
      await code { () throws(BatchError) in _ = try await Batch.archive([d], to: t.path("there.tar")) }
        == .invalid)
    #expect(t.text("there.tar") == "kept")
    #expect(
      await code { () throws(BatchError) in
        _ = try await Batch.extract(t.path("there.tar"), into: t.path("out"))
      } == .malformed)
    #expect(
      await code { () throws(BatchError) in _ = try await Batch.verify(t.path("none.tar")) } != nil)
  }

  @Test func noArchiveIsMadeOfNothing() async throws {
    let report = try await Batch.archive([t.path("none")], to: t.path("x.tar"))
    #expect(report.size == nil && report.counts.missing == 1 && !t.exists("x.tar"))
    var options = Batch.HashOptions()
    options.manifest = t.path("sums")
    let hashed = try await Batch.hash([t.path("none")], options)
    #expect(hashed.counts.missing == 1 && t.names() == ["d"])
  }
}
