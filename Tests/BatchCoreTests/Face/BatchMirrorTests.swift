import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Trees that a program copies.
@Suite(.timeLimit(.minutes(1))) struct BatchMirrorTests {
  private let t: TreeFixture
  private var options = Batch.MirrorOptions()

  init() throws {
    t = try TreeFixture()
    try t.file("src/a", "one\n")
    try t.file("src/d/b", "two\n")
    options.mirroring.isSynced = false
  }

  @Test("a tree is copied with its digests, and is up to date afterwards")
  func copies() async throws {
    var options = options
    options.manifest = t.path("sums")
    let first = try await Batch.mirror([t.path("src")], into: t.path("dst"), options)
    #expect(first.copied == 2 && first.bytes == 8 && first.folders == 2 && first.failures.isEmpty)
    #expect(t.content("dst/src/d/b") == Array("two\n".utf8))
    let sums = try #require(t.content("sums"))
    #expect(String(decoding: sums, as: UTF8.self).contains("  src/d/b\n"))
    options.manifest = nil
    options.mirroring.verifies = true
    let second = try await Batch.mirror([t.path("src")], into: t.path("dst"), options)
    #expect(second.copied == 0 && second.upToDate == 4 && second.different == 0)
  }

  @Test("what the source does not have is removed only within the limit")
  func removes() async throws {
    _ = try await Batch.mirror([t.path("src/")], into: t.path("dst"), options)
    try t.file("dst/x", "old\n")
    try t.file("dst/y", "old\n")
    try t.file("dst/z", "old\n")
    var options = options
    options.mirroring.removal = MirroringOptions.Removal()
    let refused = try await Batch.mirror([t.path("src/")], into: t.path("dst"), options)
    #expect(refused.removed == 0 && refused.refusal != nil && t.content("dst/x") != nil)
    options.mirroring.removal?.mostFiles = 3
    let removed = try await Batch.mirror([t.path("src/")], into: t.path("dst"), options)
    #expect(removed.removed == 3 && removed.refusal == nil && t.content("dst/x") == nil)
    #expect(t.content("dst/a") == Array("one\n".utf8))
  }

  @Test("files are kept as requested, and equal files of another copy are shared")
  func keeps() async throws {
    _ = try await Batch.mirror([t.path("src/")], into: t.path("one"), options)
    var options = options
    options.mirroring.linkSources = [t.path("one")]
    let shared = try await Batch.mirror([t.path("src/")], into: t.path("two"), options)
    #expect(shared.linked == 2 && shared.copied == 0)
    try t.file("two/a", "newer\n")
    options.mirroring.keeping = .existing
    _ = try await Batch.mirror([t.path("src/")], into: t.path("two"), options)
    #expect(t.content("two/a") == Array("newer\n".utf8))
  }
}
