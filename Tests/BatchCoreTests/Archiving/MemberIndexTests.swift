import Testing

@testable import BatchCore

@Suite("A member index")
struct MemberIndexTests {
  private let size: UInt64 = 200

  @Test("gives back what was written")
  func reads() throws {
    let index = try IndexBytes().index(size: size)
    #expect(index.count == 3 && index.totalBytes == 9)
    #expect(index[1].path == "g" && index[1].offset == 1024 && index[1].kind == .file)
    #expect(index[2].modified == FileStatus.Time(seconds: -5, nanoseconds: 7))
    #expect(index[0].digest == nil)
    #expect(index.groups.map(\.members) == [0..<2, 2..<3])
    #expect(index.groups.map(\.frames) == [0..<1, 1..<2])
    #expect(index.frames.map(\.check) == [0, 1])
    #expect(index[1].header == nil)
    #expect(index.place(of: 0, in: index.groups[0]) == 0..<1024)
    #expect(index.place(of: 1, in: index.groups[0]) == 1024..<2048)
  }

  @Test("has checks once they were read, and none that are damaged")
  func checks() throws {
    var written = IndexBytes()
    written.members[1].digest = nil
    written.members[2].digest = [UInt8](repeating: 5, count: 32)
    let index = try written.index(size: size)
    #expect(index.checksSize == 3 * 4 + 64)
    let whole = try index.with(checks: written.checks)
    #expect(whole[0].digest?.bytes == written.members[0].digest && whole[1].digest == nil)
    #expect(whole[2].digest?.bytes == written.members[2].digest)
    #expect(whole[1].header == HeaderCheck(size: 512, check: 78))
    let all = written.checks
    let wrong: [[UInt8]] = [
      [], all + [0], all.reversed(), all.dropLast(), all.dropLast(32), all.map { $0 ^ 1 },
    ]
    for checks in wrong {
      #expect(throws: BatchError.self) { try index.with(checks: checks) }
    }
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

  @Test("without members is one")
  func empty() throws {
    let index = try IndexBytes(members: [], frames: []).index(size: size)
    #expect(index.count == 0 && index.groups.isEmpty)
  }

  /// Changes that leave the digest right and the index wrong.
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
  ]

  @Test("that lies is refused although its digests are right", arguments: lies.indices)
  func refused(number: Int) {
    var written = IndexBytes()
    Self.lies[number](&written)
    #expect(throws: BatchError.self) { try written.index(size: size) }
  }

  @Test("of random numbers behind a right digest is refused or read, and never more")
  func fuzz() {
    var random = SeededNumbers(seed: 11)
    let whole = IndexBytes()
    for _ in 0..<4000 {
      var parts = whole.pages + [whole.head]
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let part = Int.random(in: parts.indices, using: &random)
        parts[part][Int.random(in: parts[part].indices, using: &random)] =
          [0, 1, 255, 128].randomElement(using: &random) ?? 0
      }
      guard let head = parts.popLast(),
        let index = try? IndexBytes.index(head: head, pages: parts, size: size)
      else { continue }
      for group in index.groups {
        let end = index.frames[group.frames.upperBound - 1].plain.upperBound
        for number in group.members { #expect(index.place(of: number, in: group).upperBound <= end) }
        #expect(index.weight(of: group) > 0)
      }
    }
  }
}
