import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A stored index")
struct StoredIndexTests {
  private let size: UInt64 = 200

  private func read(_ bytes: [UInt8], checks: Bool = true) throws(BatchError) -> MemberIndex {
    try StoredIndex.read(IndexExtent(bytes), checks: checks, size: size, memory: 1 << 28)
  }

  @Test("is read, with its checks when they are requested")
  func reads() throws {
    let bytes = try IndexBytes().stored()
    let whole = try read(bytes)
    #expect(try whole.count == 3 && whole[2].path == "h")
    #expect(try whole[2].digest?.bytes == [UInt8](repeating: 9, count: 32))
    #expect(whole.digest.bytes == Array(bytes.suffix(32)))
    let plain = try read(bytes, checks: false)
    #expect(try plain.count == 3 && plain[2].digest == nil && plain[2].header == nil)
  }

  @Test("is valid without members")
  func empty() throws {
    #expect(try read(IndexBytes(members: [], frames: []).stored()).count == 0)
  }

  @Test("with any flipped bit is refused by a digest")
  func flipped() throws {
    let bytes = try IndexBytes().stored()
    for place in bytes.indices {
      var damaged = bytes
      damaged[place] ^= 4
      expectError(.malformed) { try read(damaged) }
    }
  }

  @Test("that was cut anywhere is refused")
  func cut() throws {
    let bytes = try IndexBytes().stored()
    for count in bytes.indices {
      expectError(.malformed) { try read(Array(bytes.prefix(count))) }
      expectError(.malformed) { try read(Array(bytes.suffix(count))) }
    }
  }

  @Test("with right digests and contradictory content is refused")
  func lies() throws {
    var twice = IndexBytes()
    twice.members[1].offset = 0
    let bytes = try twice.stored()
    expectError(.malformed) { try read(bytes) }
    // One extra byte between the head and the checks.
    let whole = try IndexBytes().stored()
    let checks = IndexBytes().checks.count + MemberIndex.trailerSize
    let longer = whole.dropLast(checks) + [0] + whole.suffix(checks)
    expectError(.malformed) { try read(Array(longer)) }
    expectError(.malformed) { try read(Array(longer), checks: false) }
  }

  @Test("does not allocate the memory that a small frame claims to need", arguments: [3, 4])
  func bombs(version: Int) throws {
    // A few kilobytes that claim to hold hundreds of megabytes of names.
    let zeros = [UInt8](repeating: 0x61, count: 400 << 20)
    var bytes = IndexBytes(version: version)
    bytes.members = []
    let page = try ZstdContext(level: 1).compressed(zeros)
    bytes.pageRows = [(UInt64(page.count), UInt64(zeros.count), 1, 1)]
    let head = try ZstdContext(level: 1).compressed(bytes.head([]))
    var lengths = [UInt8]()
    lengths.appendLittleEndian(UInt64(page.count))
    lengths.appendLittleEndian(UInt64(head.count))
    let digest = try MemberIndexBuilder.digest(of: [page + head, lengths])
    expectError(.exhausted) { try read(page + head + lengths + digest.bytes) }
  }
}
