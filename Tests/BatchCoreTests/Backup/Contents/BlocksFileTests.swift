import BatchEngine
import Synchronization
import TestSupport
import Testing

@testable import BatchCore

@Suite("The file of blocks") struct BlocksFileTests {
  private let t: TreeFixture
  private let run = RunContext()
  private let header = SnapshotHeader(
    name: SnapshotName(set: "home", stamp: "20261120T020000Z"), sequence: 3,
    started: FileStatus.Time(seconds: 1_795_140_000, nanoseconds: 0), increment: 1)

  init() throws { t = try TreeFixture() }

  private func place(_ member: PathBytes) -> SnapshotEntry.Place {
    SnapshotEntry.Place(archive: "20261120T020000Z", member: member)
  }

  private func record(_ count: Int, changed: [Bool]? = nil) -> BlocksRecord {
    let hashes = TreeFixture.content(count * BlockList.hashSize)
    return BlocksRecord(
      list: BlockList(size: UInt64(count) << 20 - 5, blockSize: 1 << 20, hashes: hashes), changed: changed)
  }

  private func write(_ records: [(PathBytes, BlocksRecord)]) throws -> PathBytes {
    let output = ByteStream()
    let writer = try BlocksWriter(header, seed: 0xABC, to: output)
    for (member, record) in records { try writer.append(record, at: place(member)) }
    try writer.finish()
    let path = t.path("b")
    try t.file("b", output.bytes)
    return path
  }

  @Test("gives back what was written, for lists of several lines too, in any order") func roundTrip() throws {
    // A line has at most 32,768 hashes.
    let count = Campaign.isFull ? 70_000 : 33_000
    let bits = (0..<count).map { $0 % 5 == 0 }
    let path = try write([
      ("a", record(70)), ("large", record(count, changed: bits)),
      (PathBytes([0xFF, 0x2F, 0x61]), record(80)),
    ])
    let known = try #require(KnownBlocks(path, SourceContext(run)))
    #expect(known.seed == 0xABC)
    let large = try #require(try known.record(at: place("large"), size: UInt64(count) << 20 - 5))
    #expect(large.changed == bits && large.list == record(count).list)
    #expect(
      try known.record(at: place(PathBytes([0xFF, 0x2F, 0x61])), size: 80 << 20 - 5)?.list == record(80).list)
    let small = try #require(try known.record(at: place("a"), size: 70 << 20 - 5))
    #expect(small.changed == nil && small.list == record(70).list)
    #expect(try known.record(at: place("b"), size: 70 << 20 - 5) == nil)
    #expect(try known.record(at: place("a"), size: 71 << 20 - 5) == nil)
    let output = ByteStream()
    let writer = try BlocksWriter(header, seed: 0xABC, to: output)
    try writer.append(lines: try #require(try known.lines(at: place("large"))))
    try writer.finish()
    try t.file("copy", output.bytes)
    let copied = try #require(KnownBlocks(t.path("copy"), SourceContext(run)))
    #expect(try copied.record(at: place("large"), size: UInt64(count) << 20 - 5)?.list == large.list)
  }

  @Test("has no records when a byte of it has changed or it is cut") func damage() throws {
    let path = try write([("a", record(20)), ("b", record(30))])
    let whole = try SmallFile.readRegular(path)
    for place in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[place] ^= 0x10
      try t.file("damaged", bytes)
      let found = try KnownBlocks(t.path("damaged"), SourceContext(run)).flatMap {
        try $0.record(at: self.place("a"), size: 20 << 20 - 5)
      }
      #expect(found.map { $0.list == record(20).list } ?? true, "byte \(place)")
      try t.file("cut", Array(whole[..<place]))
      #expect(
        try KnownBlocks(t.path("cut"), SourceContext(run))?.record(at: self.place("a"), size: 20 << 20 - 5)
          == nil)
    }
    #expect(KnownBlocks(t.path("missing"), SourceContext(run)) == nil)
  }
}

private final class ByteStream: ResultStream {
  private let content = Mutex<[UInt8]>([])
  var bytes: [UInt8] { content.withLock { $0 } }
  func write(_ bytes: [UInt8]) { content.withLock { $0 += bytes } }
  func finish() {}
}
