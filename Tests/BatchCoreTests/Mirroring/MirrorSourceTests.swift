import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// What the files of a mirror weigh, in a run and in a plan.
@Suite(.timeLimit(.minutes(1))) struct MirrorSourceTests {
  private let t: TreeFixture
  private let run = RunContext(calls: LinuxCalls())

  init() throws {
    t = try TreeFixture(on: .disk)
    // Holes of all sizes: below the size of a large item, above it, and of a file that is copied in ranges.
    for number in 1...120 {
      try t.file(PathBytes("src/a/f\(number)"), size: 5000)
      try t.file(PathBytes("src/c/f\(number)"), size: 5000)
    }
    for number in [3, 5, 6] { try t.sparseFile(PathBytes("src/a/hole\(number)"), size: 9 << 20) }
    try t.file("src/b/huge", size: 4096)
    try t.truncate("src/b/huge", to: 1 << 40)
    try t.file("src/b/full", size: 9 << 20)
    try t.hardLink("src/b/l", to: "src/a/f1")
    try t.hardLink("src/b/m", to: "src/a/hole3")
    try t.sparseFile("src/c/f5x", size: 80 << 20)
  }

  private func call(_ options: MirroringOptions = MirroringOptions()) -> MirrorCall {
    MirrorCall([t.path("src")], into: t.path("dst"), options)
  }

  private func plan(_ shards: Int, _ call: MirrorCall, _ stride: ChunkStride) throws -> ShardPlan {
    let folder = t.path(PathBytes("plan\(t.names().count)"))
    let maker = try PlanMaker(in: folder, shards: shards, stride: stride, run)
    let division = try #require(call.division)
    _ = try division.walk(Operands(call.sources), division.walk(WalkOptions()), into: maker, in: run)
    return try maker.finish(
      version: "1", command: "mirror", arguments: [], operandCount: 1, filtered: 0, fewestBytes: nil,
      isSynced: false)
  }

  @Test("a hole weighs nothing in a plan, unless its zeros are read")
  func balance() throws {
    // An item that cannot be divided.
    try t.remove("src/b/full")
    let even = try plan(4, call(), .fixed(8))
    #expect(even.shards.count == 4 && even.imbalance < 1.5, "\(even.shards.map(\.cost))")
    // What a run counts as done are all bytes of a file.
    #expect(even.shards.reduce(0) { $0 + $1.bytes } > 1 << 40)
    var options = MirroringOptions()
    options.makesDigests = true
    let read = try plan(4, call(options), .fixed(8))
    #expect(read.shards.map(\.cost).max() ?? 0 > 1 << 40)
  }

  private static let shardCounts = Campaign.isFull ? [1, 2, 4, 7, 16, 50, 1000] : [1, 4, 7, 16, 1000]

  @Test(
    "a shard ends where a run on one machine ends a chunk", arguments: [false, true], [false, true])
  func borders(makesDigests: Bool, hasLarge: Bool) throws {
    // Without an item that cannot be divided, each chunk can be a shard.
    if !hasLarge { for name in ["src/b/full", "src/a/hole6"] as [PathBytes] { try t.remove(name) } }
    var options = MirroringOptions()
    options.makesDigests = makesDigests
    let call = call(options)
    for stride in [
      ChunkStride.fixed(8), ChunkStride(count: 64, byteCount: 40_000, rises: true),
      ChunkStride(count: 64, byteCount: .max, rises: true),
    ] {
      let division = try #require(call.division)
      let feed = ChunkFeed(source: call.source(division.walk(WalkOptions()), in: run), stride: stride)
      var (ends, count) = (Set<Int>(), 0)
      while let chunk = try feed.next() {
        count += chunk.chunk.pathCount
        ends.insert(count)
      }
      for shards in Self.shardCounts {
        let plan = try plan(shards, call, stride)
        var entries = 0
        for shard in plan.shards {
          entries += shard.entries
          #expect(ends.contains(entries), "\(shards) \(shard.index) \(entries)")
        }
        #expect(entries == count)
      }
    }
  }

  @Test("a file weighs its data, a block at least, and never more than its size")
  func weight() throws {
    let source = call().source(WalkOptions(), in: run)
    func weight(size: Int64, allocated: Int64) -> Int64 {
      let status = FileStatus(
        identity: FileIdentity(device: 1, inode: 1), mode: 0o100644, linkCount: 1, owner: 0, group: 0,
        size: size,
        modified: FileStatus.Time(seconds: 0, nanoseconds: 0),
        statusChanged: FileStatus.Time(seconds: 0, nanoseconds: 0), allocated: allocated, device: 0)
      let directory = DirectoryPath(prefix: Array("d/".utf8), operandLength: 2, identity: nil, depth: 0)
      return source.weight(
        of: .entry(
          FileRecord(
            directory: directory, names: NameArena(name: Array("f".utf8)), nameOffset: 0, status: status,
            followsLinks: false)))
    }
    #expect(weight(size: 0, allocated: 0) == 0 && weight(size: 0, allocated: 4096) == 0)
    #expect(weight(size: 100, allocated: 0) == 100 && weight(size: 100, allocated: 4096) == 100)
    #expect(weight(size: 1 << 40, allocated: 0) == 4096 && weight(size: 1 << 40, allocated: 8192) == 8192)
    #expect(weight(size: 5000, allocated: .max) == 5000 && weight(size: -1, allocated: -512) == 0)
    #expect(weight(size: .max, allocated: .max) == .max)
  }
}
