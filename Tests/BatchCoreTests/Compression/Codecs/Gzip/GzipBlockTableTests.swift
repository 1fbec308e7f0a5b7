import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// The table of blocks in the header of a large .gz file, and files that are decoded with it.
@Suite(.timeLimit(.minutes(5))) struct GzipBlockTableTests {
  private final class Content: ResultStream {
    private let total = Mutex<(check: UInt32, count: Int)>((0, 0))

    func write(_ bytes: [UInt8]) throws(BatchError) {
      let stream = try DigestStream(.crc32)
      let digest = try withBytes(of: bytes) { (raw) throws(BatchError) in try stream.digest(of: raw) }
      let check = digest.bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      total.withLock { digest in
        digest = (GzipBlockTable.join(digest.check, check, count: bytes.count), digest.count + bytes.count)
      }
    }

    func finish() throws(BatchError) {}

    var found: Found { total.withLock { Found(check: $0.check, count: $0.count) } }
  }

  private final class Messages: RunObserver {
    let lines = Recorder<String>()

    func met(_ problem: Problem, severity: Severity) {
      // With the table, the place at which the garbage begins is further on.
      let message = problem.error.message.split(separator: ", at byte").first ?? ""
      lines.record("\(severity.rawValue) \(problem.event.rawValue) \(message)")
    }
  }

  private struct Found: Equatable {
    let check: UInt32
    let count: Int
  }

  private let fixture: TreeFixture
  /// Most of the content is noise, so that the file is large enough to be decoded with its table.
  private static let content = SampleContent.text.bytes(2_000_000) + SampleContent.noise.bytes(9_300_000)
  /// The file is made once, since that takes long without optimization.
  private static let file = Result { try made() }
  private let content = Self.content

  init() throws {
    fixture = try TreeFixture()
    try fixture.file("f", content)
  }

  private static func made() throws -> [UInt8] {
    let fixture = try TreeFixture()
    try fixture.file("f", content)
    let run = try TransformRun.compress(fixture, ["f"])
    #expect(run.reports == ["f written \(content.count)"])
    return try #require(fixture.content("f.gz"))
  }

  private func compressed() throws -> [UInt8] {
    let file = try Self.file.get()
    try fixture.file("f.gz", file)
    return file
  }

  /// The content that is decoded, and whether the run reports it as complete.
  private func decode(_ name: PathBytes, width: Int) -> (content: Found, isWhole: Bool, problems: [String]) {
    let stream = Content()
    var options = BatchOptions()
    options.concurrency = 1
    let problems = Messages()
    let runner = BatchRunner(options: options, observer: problems)
    let job = DecompressToStreamJob(DecoderOptions(), width: width, output: stream)
    let summary = runner.run(job, over: runner.tree([fixture.path(name)]))
    return (stream.found, summary.counts.failed == 0 && summary.counts.done == 1, problems.lines.values)
  }

  private func found(_ bytes: [UInt8]) throws -> Found {
    let stream = Content()
    try stream.write(bytes)
    return stream.found
  }

  private func parts(_ file: [UInt8]) throws -> CompressedParts? {
    try GzipBlockTable.read(size: UInt64(file.count)) { (offset, buffer) in
      let rest = file.dropFirst(Int(offset)).prefix(buffer.count)
      buffer.copyBytes(from: rest)
      return rest.count
    }
  }

  @Test func aLargeFileHasATableAndStockToolsReadIt() throws {
    let file = try compressed()
    let found = try #require(try parts(file))
    #expect(
      found.parts.map(\.plain.count) == [Int](repeating: 1 << 20, count: 10) + [content.count % (1 << 20)])
    for tool in [
      "gzip -dc", "libdeflate-gunzip -c",
      "python3 -c 'import gzip,sys;sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())'",
    ] {
      #expect(
        try Outcome(shell: "\(tool) f.gz | cmp - f && echo same", in: fixture).text == "same\n", "\(tool)")
    }
    for width in [1, 2, 7, 32] {
      let result = decode("f.gz", width: width)
      #expect(result.isWhole)
      #expect(try result.content == self.found(content), "\(width)")
    }
  }

  @Test func aFileOfOneBlockAndAStreamHaveNoTable() throws {
    try fixture.file("small", SampleContent.text.bytes(1_500_000))
    _ = try TransformRun.compress(fixture, ["small"])
    #expect(try #require(fixture.content("small.gz"))[3] == 0)
    #expect(try CompressionFormat.gz.compressedInBlocks(content)[3] == 0)
  }

  @Test func groupsAreLargerWhenThereAreManyBlocks() throws {
    for (size, log) in [
      (UInt64(2 << 20), UInt8(20)), (15_000 << 20, 20), (15_000 << 20 | 1, 21), (1 << 44, 31),
    ] {
      let field = GzipBlockTable(plainSize: size, blockSize: 1 << 20).field
      #expect(field[7] == log)
      #expect(field.count < 1 << 16)
      #expect(Int(field[0]) | Int(field[1]) << 8 == field.count - 2)
    }
    var table = GzipBlockTable(plainSize: 20_000 << 20, blockSize: 1 << 20)
    for block in 0..<UInt64(20_000) { table.append(1000, at: block << 20) }
    let field = table.field
    #expect(field.count == 2 + 4 + 10 + 4 * 10_000)
    #expect(Array(field[16..<20]) == [0xD0, 7, 0, 0])
    #expect(Array(field.suffix(4)) == [0xD0, 7, 0, 0])
  }

  @Test func aDamagedTableNeverChangesTheContent() throws {
    let file = try compressed()
    let expected = try found(content)
    let header = 12 + Int(file[10]) + Int(file[11]) << 8
    var chance = SeededNumbers(seed: 68)
    for number in 0..<Campaign.costlyCases(600) {
      var other = file
      for _ in 0..<Int.random(in: 1...3, using: &chance) {
        let place = Int.random(in: 12..<header, using: &chance)
        if Bool.random(using: &chance) {
          other[place] ^= 1 << UInt8.random(in: 0...7, using: &chance)
        } else {
          other[place] = [0, 1, 255, other[place] &+ 1, other[place] &- 1].randomElement(using: &chance) ?? 0
        }
      }
      // Two sizes that are changed in opposite directions still have the right sum.
      if number.isMultiple(of: 3) {
        other = file
        let one = 12 + 4 + 10 + 4 * Int.random(in: 0..<10, using: &chance)
        let change = UInt8.random(in: 1...9, using: &chance)
        other[one] &+= change
        other[one + 4] &-= change
      }
      try fixture.file("x.gz", other)
      let result = decode("x.gz", width: [1, 2, 7].randomElement(using: &chance) ?? 1)
      guard result.isWhole, result.content == expected else {
        Issue.record("case \(number): \(result.problems) \(Array(other[..<header]))")
        return
      }
    }
  }

  @Test func damageIsFoundWithTheMessageOfOneLane() throws {
    let file = try compressed()
    var chance = SeededNumbers(seed: 69)
    for number in 0..<(Campaign.isFull ? 200 : 8) {
      var other = file
      switch number % 4 {
      case 0: other.removeLast(Int.random(in: 1...(file.count - 9_000_000), using: &chance))
      case 1: other[file.count - Int.random(in: 1...8, using: &chance)] ^= 1
      case 2: other[Int.random(in: 100..<file.count, using: &chance)] ^= 4
      default: other += number % 8 == 3 ? [1, 2, 3] : file[..<1000]
      }
      try fixture.file("x.gz", other)
      // The same file without a table, which one lane decodes.
      let header = 12 + Int(file[10]) + Int(file[11]) << 8
      try fixture.file("y.gz", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255] + other[header...])
      let expected = decode("y.gz", width: 1)
      for width in [1, 2, 7] {
        let result = decode("x.gz", width: width)
        #expect(result.isWhole == expected.isWhole)
        #expect(result.problems == expected.problems, "case \(number), \(width)")
        if result.isWhole { #expect(result.content == expected.content, "case \(number), \(width)") }
      }
    }
  }
}
