import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The records of a plan")
struct PlanRecordTests {
  private static func record(_ text: String) throws -> PlanRecord { try PlanRecord(Array(text.utf8)[...]) }

  private static let file = "F33188 12 1 0 0 5 4096 -7 5 1700000000 999999999 0 - 0 "

  @Test("are read back as a walk gave them, with any byte in a name")
  func roundTrip() throws {
    let t = try TreeFixture()
    try t.file("t/one", "1")
    try t.file(PathBytes(Array("t/odd ".utf8) + [0xff, 0x0a, 0x5c]), "22")
    try t.file("t/sub/three", "333")
    try t.fifo("t/sub/pipe")
    let run = RunContext(calls: LinuxCalls())
    var tree = run.tree([t.path("t")])
    var writer = PlanRecordWriter()
    var (bytes, walked) = ([UInt8](), [FileRecord]())
    var folders = 0
    while let item = tree.next() {
      if case .item(.file(let record)) = item { walked.append(record) }
      if writer.append(item, listed: tree.folderStatus, first: nil, to: &bytes) != nil { folders += 1 }
    }
    #expect(folders == 2 && bytes.last == 0)
    var (read, names, problems) = ([PlanRecord.PlannedEntry](), [PathBytes](), 0)
    var prefix: [UInt8] = []
    for piece in bytes.split(separator: 0) {
      switch try PlanRecord(piece) {
      case .folder(let folder):
        prefix = folder.prefix
        #expect(folder.modified != nil && folder.inode != nil)
      case .entry(let entry, let name):
        read.append(entry)
        names.append(PathBytes(prefix + name))
      case .problem(let problem):
        problems += 1
        #expect(problem.event == .special && problem.kind == .fifo)
        #expect(problem.error.path == t.path("t/sub/pipe"))
      case .firstPath, .rival, .manifest, .line: Issue.record("no file has a second name or a rival")
      }
    }
    #expect(names == walked.map(\.path) && problems == 1)
    #expect(read.map(\.status.size) == walked.map(\.status.size))
    #expect(read.map(\.status.identity.inode) == walked.map(\.status.identity.inode))
    #expect(read.map(\.status.modified) == walked.map(\.status.modified))
  }

  @Test("of manifest lines are read back as they were written")
  func lines() throws {
    let digest = try #require(Digest(.md5, hex: Array("d41d8cd98f00b204e9800998ecf8427e".utf8)[...]))
    let other = try #require(Digest(.crc32, hex: Array("0000000f".utf8)[...]))
    let items: [ManifestItem] = [
      .entry(
        ManifestEntry(
          path: PathBytes([0xff, 0x0a, 0x20]), digests: [digest, other], line: 7,
          isAlgorithmGuessed: true)),
      .malformed(line: 8, reason: "the digest is cut"), .text(line: 9, reason: "no row"),
      .entry(ManifestEntry(path: "b", digests: [other], line: 10)),
    ]
    var (writer, bytes, manifests) = (PlanRecordWriter(), [UInt8](), 0)
    for item in items {
      let line = CheckLine.line(item, of: "a b.md5", isOfStandardInput: false)
      if writer.append(line, to: &bytes) != nil { manifests += 1 }
    }
    let records = try bytes.split(separator: 0).map { try PlanRecord($0) }
    guard case .manifest("a b.md5")? = records.first else {
      Issue.record("the first record is not the manifest")
      return
    }
    let read = records.compactMap { if case .line(let item) = $0 { item } else { nil } }
    #expect(read == items && manifests == 1)
  }

  @Test("of files keep negative numbers")
  func numbers() throws {
    guard case .entry(let entry, let name) = try Self.record(Self.file + "x") else {
      Issue.record("the record is not an entry")
      return
    }
    #expect(entry.status.modified == FileStatus.Time(seconds: -7, nanoseconds: 5))
    #expect(entry.home == nil && Array(name) == Array("x".utf8))
  }

  @Test(
    "are refused when a path leads out of the tree or a number is invalid",
    arguments: [
      "", "X", "F", file, file + "a/b", file + "..", file + ".", "D1 2 0 2 - - t", "D1 2 0 9 - - t/",
      "D1 2 0 2 - - t/../", "D1 2 1 2 - - t/./", "D1 2 1 2 - - t/a//b/", "D1 - 1 2 - - t/a/",
      "D1 2 -1 2 - - t/", "D1 2 0 2 5 - t/", "D18446744073709551616 2 0 2 - - t/", "D1 2 0 2 5 1000000000 t/",
      "P", "F33188 12 1 0 0 99999999999999999999 4096 1 5 1 9 0 - 0 x",
      "F33188 12 1 0 0 5 4096 1 -5 1 9 0 - 0 x",
      "F33188 12 1 0 0 5 4096 1 5 1 9 0 - 2 x", "F1 12 1 0 0 5 4096 1 5 1 9 0 - 0 x", "F33188 12 x",
      "Enone unreadable 0 - 0 1 m", "Eunreadable none 0 - 0 1 m", "Eunreadable unreadable 0 - 0 9 m",
      "M", "Vx", "R1 0 0 x", "R1 2 1 md5 00 x", "R1 0 1 md5 00 x", "R1 0 1 none 00 x", "X", "Tx y",
      "R1 0 99 crc32 00000000 x",
      "Eunreadable unreadable 0 - 0 1 mpath", "Eunreadable unreadable 0 - 0 -1 m", "D1 2 0 -2 - - t/",
    ])
  func refused(text: String) {
    expectError(.malformed) { try Self.record(text) }
  }
}

@Suite("The file of a plan")
struct ShardPlanTests {
  private static func lines(_ changes: (inout [String]) -> Void = { _ in }) throws -> [UInt8] {
    let digest = try DigestStream(.sha256).finish()
    let shards = (0..<3).map { index in
      ShardPlan.Shard(
        index: index, offset: UInt64(index * 10), length: 10, entries: 1, bytes: 5, cost: 6, digest: digest,
        folder: [])
    }
    let lines = ShardPlan.lines(
      version: "1", command: "hash", workingFolder: "/", arguments: ["--", PathBytes([0xff])], asked: 4,
      operandCount: 1, filtered: 0, shards: shards)
    var texts = String(decoding: lines, as: UTF8.self).split(separator: "\n").map(String.init)
    changes(&texts)
    return try ShardPlan.finished(Array(texts.map { $0 + "\n" }.joined().utf8))
  }

  @Test("is read back")
  func roundTrip() throws {
    let plan = try ShardPlan(try Self.lines())
    #expect(plan.shards.map(\.offset) == [0, 10, 20] && plan.asked == 4)
    #expect(plan.arguments == ["--", PathBytes([0xff])])
    #expect(plan.imbalance == 1)
  }

  @Test("is refused when its digest is right and its numbers are wrong")
  func refused() throws {
    let wrong: [(from: String, to: String)] = [
      (#""offset":10"#, #""offset":11"#), (#""index":1"#, #""index":2"#), (#""shards":3"#, #""shards":4"#),
      (#""asked":4"#, #""asked":2"#), (#""asked":4"#, #""asked":-4"#), (#""schema":1"#, #""schema":2"#),
      (#""length":10"#, #""length":18446744073709551615"#), (#""entries":1"#, #""entries":-1"#),
      (#""folder":"/""#, #""folder":"here""#), (#""type":"argument""#, #""type":"word""#),
      (#""bytes":5"#, #""bytes":"5""#),
    ]
    for (from, to) in wrong {
      let content = try Self.lines { lines in
        for index in lines.indices { lines[index] = lines[index].replacing(from, with: to) }
      }
      expectError(.malformed, about: "\(to)") { try ShardPlan(content) }
    }
  }

  @Test("stores a second range of a shard after the first ranges of all shards")
  func further() throws {
    let digest = try DigestStream(.sha256).finish()
    var shard = ShardPlan.Shard(
      index: 0, offset: 0, length: 10, entries: 1, bytes: 5, cost: 6, digest: digest, folder: [0xff])
    shard.further = ShardPlan.Further(range: 10..<17, digest: digest)
    func lines(_ range: Range<UInt64>) throws -> [UInt8] {
      shard.further = ShardPlan.Further(range: range, digest: digest)
      return try ShardPlan.finished(
        ShardPlan.lines(
          version: "1", command: "archive", workingFolder: "/", arguments: [], asked: 1, operandCount: 1,
          filtered: 0,
          shards: [shard]))
    }
    let plan = try ShardPlan(lines(10..<17))
    #expect(plan.shards[0].ranges.map(\.range) == [0..<10, 10..<17] && plan.shards[0].folder == [0xff])
    #expect(plan.bytes == 5)
    for wrong in [9..<17, 11..<17, 10..<(1 << 63 + 1)] as [Range<UInt64>] {
      expectError(.malformed) { try ShardPlan(lines(wrong)) }
    }
  }

  @Test(
    "is named in the error: its folder when it is missing, its file when it is damaged or of another version")
  func errors() throws {
    let t = try TreeFixture()
    let folder = try PlanFolder(t.path(""), calls: LinuxCalls())
    func error() -> BatchError? {
      do {
        try ShardPlan.read(in: folder).require(version: "2", in: folder)
        return nil
      } catch {
        return error
      }
    }
    #expect(error()?.code == .missing && error()?.path == folder.path)
    try t.file("plan.json", "{}\n")
    #expect(error()?.code == .unwritable && error()?.path == folder.path(of: "plan.json"))
    try t.file("plan.json", Self.lines())
    #expect(error()?.message == "the plan was made by version 1, and this is version 2")
    try t.file(
      "plan.json", Self.lines { $0[0] = $0[0].replacing(#""version":"1""#, with: #""version":"2""#) })
    #expect(error() == nil)
    try t.remove("plan.json")
    try t.folder("plan.json")
    #expect(error()?.path == folder.path(of: "plan.json"))
    let misplaced = try Self.lines { $0.append($0[1]) }
    #expect { try ShardPlan(misplaced) } throws: { "\($0)".contains("has a misplaced line") }
  }

  @Test("is refused with any changed or missing byte")
  func damaged() throws {
    let content = try Self.lines()
    for position in stride(from: 0, to: content.count, by: 7) {
      var flipped = content
      flipped[position] ^= 1
      expectError(.malformed) { try ShardPlan(flipped) }
      expectError(.malformed) { try ShardPlan(Array(content[..<position])) }
    }
  }

  @Test("gives the files of shards names that sort by number")
  func names() {
    #expect(ShardPlan.name(7, "result") == "shard-0007.result")
    #expect(ShardPlan.name(12_345, "lock") == "shard-12345.lock")
  }
}

@Suite("Writing a plan")
struct PlanMakerTests {
  @Test("gives even ranges, and needs less than 200 bytes for each entry")
  func even() throws {
    let t = try TreeFixture()
    let run = RunContext(calls: LinuxCalls())
    let maker = try PlanMaker(in: t.path("p"), shards: 16, stride: .fixed(8), run)
    let count = Campaign.cases(200_000)
    let status = try t.path("").status()
    for folder in 0..<(count / 100) {
      let directory = DirectoryPath(
        prefix: Array("t/folder \(folder)/".utf8), operandLength: 2,
        identity: FileIdentity(device: 1, inode: UInt64(folder)), depth: 1)
      for file in 0..<100 {
        let names = NameArena(name: Array("a name of a file \(file)".utf8))
        let record = FileRecord(
          directory: directory, names: names, nameOffset: 0, status: status, followsLinks: false)
        let size = Int64(file * folder % 50_000)
        try maker.add(.item(.file(record)), listed: nil, measure: ItemMeasure(weight: size), bytes: size)
      }
    }
    let plan = try maker.finish(
      version: "1", command: "hash", arguments: [], operandCount: 1, filtered: 0, fewestBytes: nil,
      isSynced: false)
    #expect(plan.shards.count == 16 && plan.entries == count / 100 * 100)
    #expect(plan.imbalance < 1.05)
    let size = try t.path("p/plan.entries").status().size
    #expect(size < Int64(count) * 200)
    let read = try ShardPlan.read(in: try PlanFolder(t.path("p"), calls: LinuxCalls()))
    #expect(read.id == plan.id)
    expectError(.invalid) { try PlanMaker(in: t.path("p"), shards: 2, stride: .automatic, run) }
  }
}

@Suite("Cuts into even ranges")
struct EvenCutsTests {
  @Test("minimize the cost of the most expensive range")
  func cuts() {
    #expect(EvenCuts.places([1, 2, 3, 4, 5], count: 4) == [1, 3, 4])
    #expect(EvenCuts.places([5, 6, 7, 12], count: 2) == [1, 3])
    #expect(EvenCuts.places([3], count: 7) == [0])
    #expect(EvenCuts.places([], count: 7) == [])
  }

  @Test("give a piece that costs more than all others a separate range")
  func dear() {
    #expect(EvenCuts.places([1, 101, 102, 103], count: 3) == [0, 1, 3])
  }
}

@Suite("The borders of chunks")
struct ChunkBorderTests {
  @Test("are those of a run's planner")
  func borders() {
    var borders = ChunkBorders(.segments(count: 3, byteCount: 100))
    var found: [String] = []
    for weight in [1, 1, 1, 1, 99, 5, 1 << 30, 1 << 30, 7] as [Int64] {
      let ends = borders.add(ItemMeasure(weight: weight))
      found.append("\(ends.before ? "|" : "")\(ends.after ? "." : "-")")
    }
    #expect(found == ["-", "-", ".", "-", ".", "-", "|.", ".", "-"])
  }
}
