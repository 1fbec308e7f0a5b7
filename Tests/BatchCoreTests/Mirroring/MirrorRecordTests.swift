import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// The small parts of a mirror: where a source belongs, in which steps times are stored, what a shard writes down.
@Suite struct MirrorRecordTests {
  private func folder(_ operand: PathBytes, _ rest: String) -> DirectoryPath {
    let prefix = operand.bytes.last == UInt8(ascii: "/") ? operand.bytes : operand.bytes + Array("/".utf8)
    return DirectoryPath(
      prefix: prefix + Array(rest.utf8), operandLength: prefix.count,
      identity: FileIdentity(device: 1, inode: 2), depth: 0)
  }

  @Test(
    "a slash at the end means the contents",
    arguments: [
      ("srv", "srv/d"), ("srv/", "d"), ("/srv", "srv/d"), ("/", "d"), (".", "d"), ("..", "d"), ("a/..", "d"),
      ("a/./b", "b/d"), ("a//b", "b/d"), ("a//", "d"),
    ])
  func places(operand: String, place: String) throws {
    let operands = MirrorOperands([PathBytes(operand)])
    let walked = try #require(operands.paths.first)
    #expect(operands.place(of: folder(walked, "d/")) == Array(place.utf8))
    let whole = walked.bytes.last == UInt8(ascii: "/") ? "\(operand)d" : "\(operand)/d"
    #expect(operands.place(of: PathBytes(whole)).bytes == Array(place.utf8))
  }

  @Test("the same folder with and without a slash has two places, and a repeated one is walked once")
  func both() {
    let operands = MirrorOperands(["srv", "srv/", "srv"])
    #expect(operands.paths.count == 2 && operands.mayMeet)
    #expect(
      operands.paths.map { operands.place(of: folder($0, "d/")) } == ["srv/d", "d"].map { Array($0.utf8) })
    #expect(!MirrorOperands(["a", "b"]).mayMeet && MirrorOperands(["a", "x/a"]).mayMeet)
  }

  @Test(
    "the step of a file system follows from how it stored a time",
    arguments: [
      (1_000_000_001, 123_456_789, 1), (1_000_000_001, 123_456_700, 100), (1_000_000_001, 123_456_000, 1000),
      (1_000_000_001, 120_000_000, 10_000_000), (1_000_000_001, 0, 1_000_000_000),
      (1_000_000_000, 0, 2_000_000_000), (1_000_000_002, 0, 2_000_000_000),
    ])
  func steps(seconds: Int, nanoseconds: Int, step: Int) {
    let stored = FileStatus.Time(seconds: Int64(seconds), nanoseconds: Int32(nanoseconds))
    #expect(TimeSteps.step(storing: stored) == Int64(step))
  }

  private func records() throws -> [MirrorRecord] {
    var entry = ArchiveEntry(path: "", kind: .directory)
    (entry.mode, entry.owner, entry.group) = (0o2750, 12, 34)
    entry.modified = FileStatus.Time(seconds: -5, nanoseconds: 7)
    entry.attributes = [ExtendedAttribute(name: Array("user.a".utf8), value: [0, 58, 255])]
    let place = try RelativePath("a/b:3")
    var made = MirrorReport("src/a", place, .directory, size: 0)
    (made.outcome, made.owner) = (.copied, 9)
    return [
      .digest(place, try Digest.sha256(of: [1]), size: 77, isShared: true),
      .name(MirrorReport("src/\n", place, .symbolicLink, size: 0), first: try RelativePath("x")),
      .folder(made, entry),
    ]
  }

  @Test("records are read as they were written")
  func roundTrip() throws {
    let bytes = try records().flatMap(\.bytes)
    var rest = bytes[...]
    var read: [MirrorRecord] = []
    while !rest.isEmpty { read.append(try MirrorRecord(from: &rest)) }
    #expect(read.map(\.bytes) == (try records()).map(\.bytes))
    guard case .folder(let report, let entry) = read[2] else {
      Issue.record("not a folder")
      return
    }
    #expect(report.outcome == .copied && report.owner == 9 && entry.modified.seconds == -5)
    #expect(entry.attributes.first?.value == [0, 58, 255])
  }

  @Test("records that are cut or changed are refused, and never lead outside")
  func damaged() throws {
    for record in try records() {
      let bytes = record.bytes
      for end in 1..<bytes.count {
        var rest = bytes[..<end]
        #expect(throws: BatchError.self) { _ = try MirrorRecord(from: &rest) }
      }
      var dice = SeededNumbers(seed: 4)
      for _ in 0..<2000 {
        var changed = bytes
        changed[Int.random(in: changed.indices, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
        var rest = changed[...]
        _ = try? MirrorRecord(from: &rest)
      }
    }
    for text in [
      "L6:../out1:x1:x1:01:0", "D3:a/.64:", "L1:a99999999999999999999:", "L1:a-1:", "X", "F1:a1:a1:11:01:0",
    ] {
      var rest = Array(text.utf8)[...]
      #expect(throws: BatchError.self) { _ = try MirrorRecord(from: &rest) }
    }
  }
}
