import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A member index")
struct MemberIndexTests {
  private let size: UInt64 = 200

  /// The least memory with which the index can be read.
  private func least(_ written: IndexBytes) throws -> Int {
    try #require((0..<20_000).first { (try? written.index(size: size, memory: $0)) != nil })
  }

  @Test("is read back as it was written", arguments: [3, 4], [1, 2, 8192])
  func reads(version: Int, pageLength: Int) throws {
    var written = IndexBytes(version: version, pageLength: pageLength)
    if version == 4 { written.members[1].flags = 6 }
    // With the least memory no page is kept, so each is decoded again.
    for memory in [1 << 30, try least(written)] {
      let index = try written.index(size: size, memory: memory)
      #expect(index.pages.entries.allSatisfy { ($0.kept != nil) == (memory == 1 << 30) })
      #expect(index.count == 3 && index.totalBytes == 9 && index.memberBytes == 9)
      let second = try index[1]
      #expect(second.path == "g" && second.offset == 1024 && second.kind == .file)
      #expect(second.flags.contains(.changed) == (version == 4) && second.header == nil)
      #expect(second.flags.contains(.incomplete) == (version == 4))
      #expect(try index[2].modified == FileStatus.Time(seconds: -5, nanoseconds: 7))
      #expect(try index[0].digest == nil)
      #expect(index.groups.map(\.members) == [0..<2, 2..<3])
      #expect(index.groups.map(\.frames) == [0..<1, 1..<2])
      #expect(index.frames.map(\.check) == [0, 1])
      var cursor = IndexCursor(index)
      let members = try cursor.slice(0..<2)
      #expect(index.place(of: 0, in: index.groups[0], members) == 0..<1024)
      #expect(index.place(of: 1, in: index.groups[0], members) == 1024..<2048)
    }
  }

  @Test("has checks when they are requested", arguments: [3, 4], [1, 2, 8192])
  func checks(version: Int, pageLength: Int) throws {
    var written = IndexBytes(version: version, pageLength: pageLength)
    written.members[1].digest = nil
    written.members[2].digest = [UInt8](repeating: 5, count: 32)
    for memory in [1 << 30, try least(written)] {
      let whole = try written.index(size: size, checks: true, memory: memory)
      #expect(try whole[0].digest?.bytes == written.members[0].digest)
      #expect(try whole[1].digest == nil)
      #expect(try whole[2].digest?.bytes == written.members[2].digest)
      #expect(try whole[1].header == HeaderChecksum(size: 512, check: 78))
      #expect(try whole[2].header == HeaderChecksum(size: 512, check: 79))
    }
  }

  @Test("that needs too much memory is distinguished from a damaged one")
  func needsMemory() throws {
    var written = IndexBytes()
    written.members[1].path = PathBytes([UInt8](repeating: 0x61, count: 100_000))
    #expect(try written.index(size: size, memory: 1 << 20).count == 3)
    expectError(.exhausted) { try written.index(size: size, memory: 200_000) }
    // The sizes that a page claims are checked before it is decoded.
    var claiming = IndexBytes()
    claiming.pageRows = [(claiming.ownRows[0].0, 1 << 60, 3, 3)]
    expectError(.exhausted) { try claiming.index(size: size) }
  }

  @Test("puts the frames of a large member in one group")
  func largeMember() throws {
    var written = IndexBytes()
    written.frames.append([150, 10, 3072, 5000])
    written.frames.append([160, 10, 8072, 600])
    written.members.append(IndexBytes.Member(path: "i", frame: 3, offset: 0, digest: nil))
    let index = try written.index(size: size)
    #expect(index.groups.map(\.frames) == [0..<1, 1..<3, 3..<4])
  }

  @Test("is valid without members")
  func empty() throws {
    let index = try IndexBytes(members: [], frames: []).index(size: size)
    #expect(index.count == 0 && index.groups.isEmpty)
    // The frames of an archive without members have to be read, since they may contain members that are not
    // listed.
    let other = try IndexBytes(members: []).index(size: size)
    #expect(other.groups.map(\.frames) == [0..<2] && other.groups.map(\.members) == [0..<0])
  }

  /// Changes after which the digest is right and the index is wrong.
  static let lies: [@Sendable (inout IndexBytes) -> Void] = [
    { $0.memberCount = .max },
    { $0.memberCount = 2 },
    { $0.frameCount = .max },
    { $0.frameCount = 1 },
    { $0.frames[1][0] = 50 },
    { $0.frames[1][0] = 101 },
    { $0.frames[1][1] = 101 },
    { $0.frames[1][1] = .max },
    { $0.frames[1][2] = 2047 },
    { $0.frames[1][3] = .max },
    { $0.frames[0][3] = 0 },
    { $0.members[0].frame = 2 },
    { $0.members[0].offset = 5 },
    { $0.members[1].offset = 2048 },
    { $0.members[1].offset = 0 },
    { $0.members[2].frame = 0 },
    { $0.members[1].kind = UInt8(ascii: "x") },
    { $0.members[1].nanoseconds = 1_000_000_000 },
    { $0.members[1].path = PathBytes([0x61, 0]) },
    { $0.members[0].flags = 8 },
    { $0.members.removeFirst(2) },
    { $0.pageRows = [] },
    { $0.pageRows = [(10, 10, 3, 3)] },
    {
      $0.pageLength = 2; $0.pageRows = $0.ownRows.reversed()
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?[0].2 = 4
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?[0].3 = 2
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?[0].1 += 1
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?[0].0 += 1
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?.append((0, 0, 0, 0))
    },
    {
      $0.pageRows = $0.ownRows; $0.pageRows?.append((.max, 8, 1, 1))
    },
    {
      $0.version = 3; $0.members[0].flags = 2
    },
  ]

  @Test("that is wrong is refused although its digests are right", arguments: lies.indices)
  func refused(number: Int) {
    var written = IndexBytes()
    Self.lies[number](&written)
    expectError(.malformed) { try written.index(size: size) }
  }

  @Test("of random numbers with a right digest is refused or read, without a trap")
  func fuzz() throws {
    var random = SeededNumbers(seed: 11)
    let whole = IndexBytes()
    for _ in 0..<2000 {
      let changes = (0..<Int.random(in: 1...6, using: &random)).map { _ in
        (Int.random(in: 0...1, using: &random), Int.random(in: 0..<400, using: &random))
      }
      let bytes = try whole.stored { parts in
        for (part, place) in changes {
          parts[part][place % parts[part].count] = [0, 1, 255, 128].randomElement(using: &random) ?? 0
        }
      }
      guard
        let index = try? StoredIndex.read(IndexExtent(bytes), checks: true, size: size, memory: 1 << 26)
      else { continue }
      var cursor = IndexCursor(index)
      for group in index.groups {
        let end = index.frames[group.frames.upperBound - 1].plain.upperBound
        let members = try cursor.slice(group.members)
        for number in group.members { #expect(index.place(of: number, in: group, members).upperBound <= end) }
        #expect(index.weight(of: group) > 0)
      }
    }
  }
}
