import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

/// Another process exchanges folders, links and files of the tree between two calls of a run.
@Suite("Names that are exchanged during a run", .timeLimit(.minutes(1)))
struct ExchangedNameTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("t/d/a", SampleContent.text.bytes(5000))
    try fixture.folder("v")
    try fixture.symbolicLink("t/link", to: fixture.path("v"))
  }

  private func exchange(_ one: PathBytes, _ other: PathBytes) -> @Sendable () -> Void {
    { [fixture] in try? fixture.exchange(one, other) }
  }

  private func packed(_ name: PathBytes, _ size: Int, mode: UInt32) throws {
    try fixture.file(name, CompressionFormat.gz.compressed(SampleContent.text.bytes(size)))
    try fixture.setMode(name, mode)
  }

  @Test(
    "an output is written to the folder from which its source was read, after another folder took its name",
    arguments: [1, 2, 7, 32], [false, true])
  func output(concurrency: Int, removes: Bool) throws {
    calls.on(.read, "a", turns: 1...1, .before(exchange("t/d", "t/link")))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: concurrency, calls: calls) {
      options, _ in
      options.removesSource = removes
    }
    #expect(run.counts.done == 1 && run.problems.filter { $0.hasPrefix("failure") }.isEmpty)
    #expect(fixture.files() == (removes ? ["t/link/a.gz"] : ["t/link/a", "t/link/a.gz"]))
    #expect(fixture.openDescriptors == 0)
  }

  @Test("a large file whose folder is replaced by a link before its first block is done gets no output")
  func largeOutput() throws {
    try fixture.file("t/d/a", SampleContent.text.bytes(2_200_000))
    // The first read checks whether the file is already compressed.
    calls.on(.read, "a", turns: 2...2, .after(exchange("t/d", "t/link")))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls)
    // The folder is opened again when the first block is ready, and a link has taken its place.
    #expect(run.counts.failed == 1 && run.problems.contains("failure changed a"))
    #expect(fixture.files() == ["t/link/a"])
  }

  @Test("a large file that is exchanged after the first read is reported, and gets no output")
  func largeSource() throws {
    try fixture.file("t/d/a", SampleContent.text.bytes(2_200_000))
    calls.on(.read, "a", turns: 1...1, .after(exchange("t/d", "t/link")))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls)
    #expect(
      run.counts.done == 0 && run.problems.contains { $0.hasSuffix(" a") }, "\(run.problems) \(run.counts)")
    #expect(fixture.files() == ["t/link/a"])
  }

  @Test("a decompressed output is written to the folder from which its source was read", arguments: [1, 7])
  func decompressed(concurrency: Int) throws {
    try fixture.remove("t/d/a")
    try packed("t/d/b.gz", 5000, mode: 0o644)
    calls.on(.read, "b.gz", turns: 1...1, .before(exchange("t/d", "t/link")))
    let run = try TransformRun.decompress(fixture, ["t"], concurrency: concurrency, calls: calls)
    #expect(run.counts.done == 1)
    #expect(fixture.files() == ["t/link/b", "t/link/b.gz"])
  }

  @Test("a folder that was replaced by another one is not read, and its files count as failed")
  func replacedFolder() throws {
    try fixture.file("v/a", SampleContent.text.bytes(3000))
    // The walk reads the status of the file in its folder, and then the folder is opened for its output.
    calls.on(.entry, "a", turns: 1...1, .after(exchange("t/d", "v")))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls)
    #expect(run.counts.failed == 1 && run.problems.contains("failure changed a"))
    #expect(!fixture.files().contains { $0.hasSuffix(".gz") })
  }

  @Test("a decompressed file has the mode of the file that was read, and the exchange is reported")
  func metadata() throws {
    try packed("t/d/open.gz", 4000, mode: 0o644)
    try packed("t/d/secret.gz", 6000, mode: 0o600)
    calls.on(.open, "open.gz", turns: 1...1, .before(exchange("t/d/open.gz", "t/d/secret.gz")))
    let run = try TransformRun.decompress(fixture, ["t"], concurrency: 1, calls: calls)
    #expect(fixture.content("t/d/open")?.count == 6000)
    #expect(fixture.status("t/d/open").map { $0.mode & 0o777 } == 0o600)
    #expect(fixture.status("t/d/secret").map { $0.mode & 0o777 } == 0o644)
    #expect(
      run.problems.filter { $0 != "note special link" } == [
        "warning changed open.gz", "warning changed secret.gz",
      ])
  }

  @Test("an output has the mode that its source got after the walk", arguments: [5000, 2_200_000])
  func modeAfterTheWalk(size: Int) throws {
    try fixture.file("t/d/a", SampleContent.text.bytes(size))
    let fixture = fixture
    calls.on(.read, "a", turns: 1...1, .before { try? fixture.setMode("t/d/a", 0o600) })
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls)
    #expect(run.counts.done == 1)
    #expect(fixture.status("t/d/a.gz").map { $0.mode & 0o777 } == 0o600)
  }

  @Test("in a mirrored tree no link is followed, and another folder does not replace one of the run")
  func mirrored() throws {
    try fixture.file("t/e/b", SampleContent.text.bytes(5000))
    try fixture.folder("o/t")
    try fixture.symbolicLink("o/t/d", to: fixture.path("v"))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, into: fixture.path("o")) { _, batch in
      batch.stride = .fixed(1)
    }
    // The absolute path of the operand is mirrored as a whole.
    #expect(run.counts.done == 2 && fixture.files().filter { $0.hasPrefix("v/") }.isEmpty)
    let below = PathBytes("o" + fixture.root.description)
    let again = try TreeFixture()
    try again.file("s/x/a", SampleContent.text.bytes(5000))
    let place = PathBytes("o" + again.root.description + "/s/x")
    try fixture.folder(place.parent)
    try fixture.symbolicLink(place, to: fixture.path("v"))
    let refused = try TransformRun.compress(again, ["s"], concurrency: 1, into: fixture.path("o"))
    #expect(refused.counts.failed == 1 && fixture.files().filter { $0.hasPrefix("v/") }.isEmpty)
    #expect(fixture.exists(below.appending("t/d/a.gz".utf8)))
  }

  @Test("a folder is opened once for a stride of its files")
  func folderCalls() throws {
    for number in 0..<90 { try fixture.file(PathBytes("t/d/f\(number)"), SampleContent.text.bytes(900)) }
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls) { _, batch in
      batch.stride = .fixed(100)
    }
    #expect(run.counts.done == 91)
    // One call of the walk and one of the lane.
    #expect(calls.count(of: .open, "d") == 2)
  }

  @Test("without openat2 the path is opened name by name, and links are still refused")
  func withoutOpenBeneath() throws {
    try fixture.file("t/d/e/b", SampleContent.text.bytes(5000))
    calls.on(.openBeneath, nil, .fail(ENOSYS))
    calls.on(.read, "b", turns: 1...1, .before(exchange("t/d", "t/link")))
    let run = try TransformRun.compress(fixture, ["t"], concurrency: 1, calls: calls)
    #expect(run.counts.done == 2)
    #expect(fixture.exists("t/link/e/b.gz") && fixture.files().filter { $0.hasPrefix("v/") }.isEmpty)
  }
}
