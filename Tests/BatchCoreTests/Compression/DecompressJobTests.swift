import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

@Suite("A job that decompresses", .timeLimit(.minutes(2)))
struct DecompressJobTests {
  private let fixture: TreeFixture
  private let text = SampleContent.text.bytes(50_000)

  init() throws { fixture = try TreeFixture() }

  private func expect(_ name: PathBytes, _ content: [UInt8]) {
    #expect(fixture.content(name)?.equals(content) == true, "\(name)")
  }

  @Test("writes the content of each file, with its time and mode", arguments: CompressionFormat.writable)
  func writes(format: CompressionFormat) throws {
    try fixture.file("a.gz", format.compressed(text))
    try fixture.setModified("a.gz", seconds: 1000)
    try fixture.file("d/b.tzst", format.compressedInBlocks(text + text))
    try fixture.file("d/none", "plain")
    try fixture.file("d/empty.xz", format.compressed([]))
    let run = try TransformRun.decompress(fixture)
    #expect(run.reports == ["a.gz written 50000", "d/b.tzst written 100000", "d/empty.xz written 0"])
    #expect(run.counts.done == 3 && run.counts.skipped == 1 && run.counts.seen == 4 && run.problems.isEmpty)
    expect("a", text)
    expect("d/b.tar", text + text)
    expect("d/empty", [])
    #expect(fixture.status("a")?.modified == FileStatus.Time(seconds: 1000, nanoseconds: 0))
    #expect(fixture.status("a")?.mode == fixture.status("a.gz")?.mode)
    #expect(try TransformRun.decompress(fixture).counts.skipped == 7)
  }

  @Test(
    "decodes large files, in parts when the format has them", arguments: [CompressionFormat.zst, .xz, .gz])
  func large(format: CompressionFormat) throws {
    let content = LargeFile.content
    try fixture.file("x.gz", LargeFile.compressed(as: format))
    let run = try TransformRun.decompress(fixture) { options, _ in options.removesSource = true }
    #expect(run.counts.done == 1)
    expect("x", content)
    #expect(fixture.files() == ["x"])
  }

  @Test(
    "leaves no output of a damaged file, and keeps its source", arguments: CompressionFormat.writable,
    [false, true])
  func damaged(format: CompressionFormat, isLarge: Bool) throws {
    let content = isLarge ? LargeFile.content : text
    let whole = try isLarge ? LargeFile.compressed(as: format) : format.compressedInBlocks(content, level: 1)
    var flipped = whole
    flipped[whole.count / 2] ^= 16
    let damaged = [
      "cut": Array(whole.dropLast(9)), "flipped": flipped, "none": Array("plain text".utf8), "empty": [],
    ]
    for (name, bytes) in damaged { try fixture.file(PathBytes("\(name).gz"), bytes) }
    try fixture.file("whole.gz", whole)
    let run = try TransformRun.decompress(fixture) { options, _ in options.removesSource = true }
    #expect(run.reports == ["whole.gz written \(content.count)"])
    #expect(run.problems == ["cut", "empty", "flipped", "none"].map { "failure unreadable \($0).gz" })
    #expect(fixture.files() == ["cut.gz", "empty.gz", "flipped.gz", "none.gz", "whole"])
    #expect(run.counts.done == 1 && run.counts.failed == 4)
  }

  @Test(
    "reports garbage after the data, and keeps the source, for gzip also the content",
    arguments: CompressionFormat.writable)
  func garbage(format: CompressionFormat) throws {
    try fixture.file("x.txz", format.compressed(text) + Array("garbage".utf8))
    let run = try TransformRun.decompress(fixture) { options, _ in options.removesSource = true }
    #expect(run.problems == ["failure unreadable x.txz"])
    #expect(fixture.files() == (format == .gz ? ["x.tar", "x.txz"] : ["x.txz"]))
  }

  @Test("stops at the limit of its output")
  func limit() throws {
    try fixture.file("zeros.gz", CompressionFormat.gz.compressed([UInt8](repeating: 0, count: 1_000_001)))
    try fixture.file("text.gz", CompressionFormat.gz.compressed(text))
    let run = try TransformRun.decompress(fixture, [""], DecoderOptions(maximumOutput: 1_000_000))
    #expect(run.problems == ["failure unreadable zeros.gz"])
    #expect(fixture.files() == ["text", "text.gz", "zeros.gz"])
  }

  @Test("writes zeros as holes")
  func holes() throws {
    let content = [1] + [UInt8](repeating: 0, count: 3 << 20)
    try fixture.file("x.gz", CompressionFormat.gz.compressed(content))
    try fixture.file("y.gz", CompressionFormat.gz.compressed(Array(content.dropFirst())))
    #expect(try TransformRun.decompress(fixture).counts.done == 2)
    expect("x", content)
    expect("y", Array(content.dropFirst()))
  }

  @Test("removes all names of sources that are proved", arguments: [1, 7])
  func removes(concurrency: Int) throws {
    try fixture.file("a.gz", CompressionFormat.gz.compressed(text))
    try fixture.folder("d")
    try fixture.hardLink("d/b.tgz", to: "a.gz")
    try fixture.file("one.zst", CompressionFormat.zst.compressed(text))
    let run = try TransformRun.decompress(fixture, concurrency: concurrency) { options, _ in
      options.removesSource = true
    }
    #expect(run.reports == ["a.gz written 50000", "one.zst written 50000", "d/b.tgz linked d/b.tar"])
    #expect(fixture.files() == ["a", "one", "d/b.tar"])
    #expect(fixture.status("a")?.identity == fixture.status("d/b.tar")?.identity)
  }

  @Test("refuses two sources with one output, also for a further name")
  func rivals() throws {
    for name in ["a.gz", "a.zst", "b.gz"] as [PathBytes] {
      try fixture.file(name, CompressionFormat.gz.compressed(text))
    }
    try fixture.hardLink("c.gz", to: "b.gz")
    try fixture.file("c.xz", CompressionFormat.xz.compressed(text))
    let run = try TransformRun.decompress(fixture)
    #expect(run.problems == ["a.gz", "a.zst", "c.gz", "c.xz"].map { "failure unreadable \($0)" })
    #expect(fixture.files().contains("b") && !fixture.exists("a") && !fixture.exists("c"))
  }

  @Test("reads a file that changes again, and keeps the source", arguments: [1, 7])
  func changes(concurrency: Int) throws {
    try fixture.file("x.gz", CompressionFormat.gz.compressed(text))
    try fixture.file("y.gz", CompressionFormat.gz.compressed(text))
    let fixture = fixture
    let calls = FaultyCalls()
    calls.on(
      .read, "x.gz", .before { try? fixture.setModified("x.gz", seconds: Int.random(in: 0...1 << 30)) })
    let run = try TransformRun.decompress(fixture, concurrency: concurrency, calls: calls) { options, _ in
      options.removesSource = true
    }
    #expect(run.problems == ["warning changed x.gz"])
    #expect(fixture.files() == ["x", "x.gz", "y"])
  }

  @Test(
    "restores the compressed files, at every concurrency, over trees of any shape",
    arguments: [1] as [UInt64])
  func roundTrip(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    for number in 0..<50 {
      let content = SampleContent.allCases[Int(numbers.next() % 4)]
      let name = PathBytes("t/\(numbers.next() % 4)/f\(number)")
      try fixture.file(name, content.bytes(Int(numbers.next() % 100_000), seed: numbers.next()))
      if number % 8 == 0 { try fixture.hardLink(PathBytes("t/link\(number)"), to: name) }
    }
    let before = fixture.files()
    let sums = before.map { Checksum(of: fixture.content(PathBytes($0)) ?? []).description }
    var reports: [String]?
    for (place, concurrency) in [1, 2, 7, 32].enumerated() {
      let format = CompressionFormat.writable[place]
      let packed = try TransformRun.compress(fixture, to: format, level: 1, concurrency: concurrency) {
        options, _ in
        (options.compressesAll, options.removesSource) = (true, true)
      }
      #expect(packed.counts.failed == 0 && packed.problems.isEmpty)
      #expect(Set(fixture.files()) == Set(before.map { $0 + format.suffix }))
      let run = try TransformRun.decompress(fixture, concurrency: concurrency) { options, _ in
        options.removesSource = true
      }
      #expect(run.counts.failed == 0 && run.problems.isEmpty)
      #expect(fixture.files() == before)
      #expect(before.map { Checksum(of: fixture.content(PathBytes($0)) ?? []).description } == sums)
      let plain = run.reports.map { $0.replacing(format.suffix, with: "") }
      #expect(plain == reports ?? plain)
      reports = plain
    }
  }
}

/// A content that several tests use, and that is compressed only once: xz needs a second for it.
private enum LargeFile {
  static let content =
    SampleContent.noise.bytes(8_400_000) + SampleContent.zeros.bytes(2_000_000)
    + SampleContent.text.bytes(50_000)
  private static let files = Mutex<[CompressionFormat: [UInt8]]>([:])

  static func compressed(as format: CompressionFormat) throws -> [UInt8] {
    try files.withLock { files in
      if let file = files[format] { return file }
      let file = try format.compressedInBlocks(content, level: format == .xz ? 0 : 1)
      files[format] = file
      return file
    }
  }
}
