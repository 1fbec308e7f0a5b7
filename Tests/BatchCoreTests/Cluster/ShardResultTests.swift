import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The result of a shard")
struct ShardResultTests {
  private let t: TreeFixture
  private let folder: PlanFolder
  private let plan: ShardPlan
  private let run = RunContext()
  private let file: PathBytes = "p/shard-0001.result"

  init() throws {
    t = try TreeFixture()
    try t.folder("p")
    folder = try PlanFolder(t.path("p"), calls: LinuxCalls())
    plan = try Self.plan(of: "hash")
  }

  private static func plan(of command: String) throws -> ShardPlan {
    let shards = try (0..<3).map { index in
      ShardPlan.Shard(
        index: index, offset: UInt64(index * 10), length: 10, entries: 1, bytes: 5, cost: 6,
        digest: try Self.digest(of: [UInt8(index)]), folder: [])
    }
    let lines = ShardPlan.lines(
      version: "1", command: command, workingFolder: "/", arguments: [], asked: 3, operandCount: 1,
      filtered: 0,
      shards: shards)
    return try ShardPlan(try ShardPlan.finished(lines))
  }

  private static func digest(of bytes: [UInt8]) throws -> Digest {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try DigestStream(.sha256).digest(of: raw) }
  }

  private static let outcome: ShardOutcome = {
    var outcome = ShardOutcome()
    (outcome.counts.seen, outcome.counts.done, outcome.counts.failed) = (9, 5, 1)
    (outcome.counts.skipped, outcome.counts.changed, outcome.needless) = (3, 1, 2)
    (outcome.counts.missing, outcome.counts.unavailable) = (1, 1)
    (outcome.counts.byteCount, outcome.milliseconds, outcome.status) = (1 << 40, 70, 3)
    outcome.findings = ["MD5": 4, "other name": 0]
    outcome.node = "node 7"
    return outcome
  }()

  private static let problems: [(Problem, Severity)] =
    ShardResultWriter.remedies.map {
      (Problem(.unreadable, BatchError(.exhausted, "too much", path: "a/b", remedy: $0)), .warning)
    } + [
      (
        Problem(.missing, BatchError(.missing, "is not there", path: PathBytes([0xff, 0x0a]), errno: 2)),
        .failure
      ),
      (Problem(.changed, BatchError(.changed, "is \"another\"", remedy: .advice("look at it"))), .warning),
    ]

  private func write(_ shard: Int = 1, _ outcome: ShardOutcome = outcome) throws {
    let writer = try ShardResultWriter(
      plan, shard: shard, in: folder, isReplacing: true, isSynced: false, run)
    for (problem, severity) in Self.problems { try writer.write(problem, severity: severity) }
    try writer.write(rows: Array("one\n".utf8))
    try writer.write(rows: Array("two\n".utf8))
    try writer.write(.frame, [1, 2, 3])
    try writer.write(rows: [UInt8](repeating: 7, count: 3 << 20))
    try writer.finish(outcome)
  }

  private func open(_ plan: ShardPlan? = nil, shard: Int = 1) throws -> ShardResultReader? {
    try ShardResultReader.open(shard, of: plan ?? self.plan, in: folder)
  }

  @Test("is read back as it was written")
  func roundTrip() throws {
    #expect(try open() == nil)
    try write()
    let result = try #require(try open())
    try result.verify(run.cancellation)
    #expect(result.outcome == Self.outcome)
    var problems: [(Problem, Severity)] = []
    var rest: [(ShardPiece, [UInt8])] = []
    try result.forEach { (piece) throws(BatchError) in
      if piece.kind == .problem {
        problems.append(try result.problem(piece))
      } else {
        rest.append((piece.kind, try result.read(piece.content)))
      }
    }
    #expect(problems.map(\.0) == Self.problems.map(\.0) && problems.map(\.1) == Self.problems.map(\.1))
    #expect(rest.map(\.0) == [.rows, .frame, .rows])
    #expect(rest[0].1 == Array("one\ntwo\n".utf8) && rest[1].1 == [1, 2, 3] && rest[2].1.count == 3 << 20)
  }

  @Test("of another plan, another shard or other entries is refused")
  func others() throws {
    try write()
    let other = try Self.plan(of: "check")
    #expect { try open(other) } throws: { "\($0)".contains("is the result of another plan") }
    try t.rename(file, to: "p/shard-0002.result")
    #expect { try open(shard: 2) } throws: {
      "\($0)".contains("is the result of shard 1, which is there twice")
    }
    try t.rename("p/shard-0002.result", to: file)
    var content = try #require(t.content(file))
    let digits = Array(plan.shards[1].digest.hex.utf8)
    let place = try #require(content.indices.first { content[$0...].starts(with: digits) })
    content.replaceSubrange(place..<(place + digits.count), with: Array(plan.shards[0].digest.hex.utf8))
    try t.file(file, content)
    #expect { try open() } throws: { "\($0)".contains("is the result of other entries") }
  }

  /// - Parameter body: the pieces between the first line and the last piece.
  private func made(_ body: [UInt8], last: String? = nil, offset: UInt64? = nil) throws -> [UInt8] {
    try write()
    let written = try #require(t.content(file))
    let newline = try #require(written.firstIndex(of: UInt8(ascii: "\n")))
    let trailer = written.count - ShardPiece.trailerSize
    var numbers = LittleEndianReader(written[trailer...])
    let lastPiece = numbers.number(UInt64.self)
    let ownLast = Int(try #require(lastPiece))
    var content = Array(written[...newline]) + body
    let start = offset ?? UInt64(content.count)
    if let last {
      content.append(ShardPiece.end.rawValue)
      content.appendLittleEndian(UInt64(last.utf8.count))
      content += last.utf8
    } else {
      content += written[ownLast..<trailer]
    }
    content.appendLittleEndian(start)
    return content + (try Self.digest(of: content)).bytes
  }

  private func piece(_ kind: UInt8, _ length: UInt64, _ content: [UInt8]) -> [UInt8] {
    var bytes = [kind]
    bytes.appendLittleEndian(length)
    return bytes + content
  }

  /// The error of reading the result in the order in which a merge reads it.
  private func fault() throws -> String {
    do {
      let result = try #require(try open())
      try result.verify(run.cancellation)
      try result.forEach { (piece) throws(BatchError) in
        if piece.kind == .problem { _ = try result.problem(piece) }
      }
      return "none"
    } catch let error as BatchError {
      #expect(error.code == .malformed && error.path == folder.path(of: "shard-0001.result"), "\(error)")
      return error.message
    }
  }

  @Test("with invalid pieces is refused although its digest is right")
  func pieces() throws {
    let rows = ShardPiece.rows.rawValue
    let invalid = "has a piece that is not valid"
    let counts =
      #"{"type":"counts","seen":1,"done":1,"failed":0,"skipped":0,"changed":0,"missing":0,"unavailable":0,"#
      + #""needless":0,"found_x":2,"bytes":1,"milliseconds":1,"status":0,"node":"n"}"# + "\n"
    let cases: [([UInt8], String?, UInt64?, String)] = [
      (piece(rows, 3, [1, 2, 3]), nil, nil, "none"),
      (piece(rows, 3, [1, 2, 3]), counts, nil, "none"),
      (piece(rows, 4, [1, 2, 3]), nil, nil, invalid),
      (piece(rows, .max, [1, 2, 3]), nil, nil, invalid),
      (piece(ShardPiece.end.rawValue, 3, [1, 2, 3]), nil, nil, invalid),
      (piece(0, 3, [1, 2, 3]), nil, nil, invalid),
      ([rows, 0, 0], nil, nil, "is cut"),
      (
        piece(ShardPiece.problem.rawValue, 3, Array("{}\n".utf8)), nil, nil,
        "has a line without a valid member 'event'"
      ),
      ([], nil, .max, "is cut"), ([], nil, 0, "is cut"), ([], nil, 1 << 40, "is cut"),
      ([], counts.replacing(#""done":1"#, with: #""done":2"#), nil, "has counts that cannot be"),
      ([], counts.replacing(#""seen":1"#, with: #""seen":-1"#), nil, "has counts that cannot be"),
      ([], counts.replacing(#""bytes":1"#, with: #""bytes":-1"#), nil, "has counts that cannot be"),
      ([], counts.replacing(#""found_x":2"#, with: #""found_x":-2"#), nil, "has counts that cannot be"),
      (
        [], counts.replacing(#""node":"n""#, with: #""node":7"#), nil,
        "has a line without a valid member 'node'"
      ),
      (
        [], counts.replacing(#""status":0"#, with: #""status":3000000000"#), nil,
        "has a line without a valid member 'status'"
      ),
    ]
    for (body, last, offset, message) in cases {
      try t.file(file, try made(body, last: last, offset: offset))
      #expect(try fault() == message)
    }
    for problem in [
      #"{"event":"none","code":"missing","severity":"failure","message":"m","errno":0}"#,
      #"{"event":"missing","code":"none","severity":"failure","message":"m","errno":0}"#,
      #"{"event":"missing","code":"missing","severity":"none","message":"m","errno":0}"#,
    ] {
      let line = Array((problem + "\n").utf8)
      try t.file(file, try made(piece(ShardPiece.problem.rawValue, UInt64(line.count), line)))
      #expect(try fault() == "has a problem that is not valid")
    }
  }

  @Test("with a missing or changed byte is refused")
  func damaged() throws {
    let whole = try made(piece(ShardPiece.rows.rawValue, 3, [1, 2, 3]))
    for position in whole.indices {
      var flipped = whole
      flipped[position] ^= 1 << UInt8(position & 7)
      try t.file(file, flipped)
      #expect(try fault() != "none", "\(position)")
      try t.file(file, whole[..<position])
      #expect(try fault() != "none", "\(position)")
    }
    try t.remove(file)
    try t.folder(file)
    #expect(try fault() == "is not a regular file")
  }

  @Test("never overflows when two counts are added")
  func sums() {
    var sum = Self.outcome
    sum.findings["MD5"] = .max - 1
    sum.counts.byteCount = .max - 1
    sum.add(Self.outcome)
    #expect(sum.counts.seen == 18 && sum.needless == 4 && sum.milliseconds == 70)
    #expect(sum.counts.byteCount == .max && sum.findings == ["MD5": .max, "other name": 0])
  }
}
