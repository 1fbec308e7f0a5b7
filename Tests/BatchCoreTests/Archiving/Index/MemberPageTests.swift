import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A page of an index")
struct MemberPageTests {
  private func member(_ number: Int) -> ArchivedMember {
    let kinds: [ArchiveEntry.Kind] = [.file, .directory, .symbolicLink, .hardLink, .fifo]
    return ArchivedMember(
      ArchiveEntry(
        path: PathBytes([UInt8](repeating: 0xFF, count: number % 300)), kind: kinds[number % kinds.count],
        size: .max - UInt64(number),
        modified: FileStatus.Time(seconds: Int64(number) - 50, nanoseconds: Int32(number % 1000))),
      offset: number * 512, header: HeaderChecksum(size: UInt32(number), check: 0),
      digest: number % 2 == 0 ? nil : Digest(.sha256, bytes: [UInt8](repeating: 1, count: 32)))
  }

  private func bytes(_ count: Int) -> [UInt8] {
    var builder = MemberPageBuilder()
    for number in 0..<count { builder.add(member(number), frame: .max - UInt32(number)) }
    return builder.take()
  }

  @Test("is read back as it was written", arguments: [1, 2, 333, 8192])
  func reads(count: Int) throws {
    let page = try #require(MemberPage(bytes(count)))
    #expect(page.count == count)
    let differences = (0..<count).filter { number in
      let (row, expected) = (page.row(number), member(number))
      return page.path(number) != expected.path || row.kind != expected.kind || row.size != expected.size
        || row.modified != expected.modified || row.flags.contains(.digest) != (expected.digest != nil)
        || row.frame != Int(UInt32.max) - number || row.offset != expected.offset
        || row.headerSize != expected.header?.size
    }
    #expect(differences.isEmpty)
  }

  @Test("is full at its maximal length, and is empty after it was taken")
  func fills() {
    var builder = MemberPageBuilder()
    for number in 0..<MemberPage.length {
      #expect(!builder.isFull)
      builder.add(member(number), frame: 0)
    }
    #expect(builder.isFull)
    _ = builder.take()
    #expect(builder.count == 0 && !builder.isFull)
  }

  @Test("is full when it has many bytes, so it never needs much memory")
  func fillsByBytes() {
    var builder = MemberPageBuilder()
    let long = ArchivedMember(
      ArchiveEntry(
        path: PathBytes([UInt8](repeating: 0x61, count: 1 << 20)), kind: .file, size: 0,
        modified: FileStatus.Time(seconds: 0, nanoseconds: 0)))
    for _ in 0..<4 {
      #expect(!builder.isFull)
      builder.add(long, frame: 0)
    }
    #expect(builder.isFull && builder.size == builder.take().count)
  }

  @Test("counts its digests")
  func digests() throws {
    let page = try #require(MemberPage(bytes(20)))
    #expect(page.digestCount == 10 && page.digestCount(before: 5) == 2 && page.digestCount(before: 0) == 0)
  }

  @Test("is refused when it was cut, is longer, or states another number of members")
  func refused() {
    let whole = bytes(20)
    for count in whole.indices { #expect(MemberPage(Array(whole.prefix(count))) == nil) }
    #expect(MemberPage(whole + [1]) == nil)
    for count: UInt8 in [0, 19, 21, 255] { #expect(MemberPage([count] + whole.dropFirst()) == nil) }
    #expect(MemberPage([20, 0, 0, 128] + whole.dropFirst(4)) == nil)
    #expect(MemberPage([]) == nil)
  }

  @Test("is refused when it has a path with a NUL, an unknown kind, or too many nanoseconds")
  func lies() {
    let whole = bytes(20)
    var wrong = whole
    wrong[whole.count - 1] = 0
    #expect(MemberPage(wrong) == nil)
    wrong = whole
    wrong[4 + 20 * 4] = UInt8(ascii: "9")
    #expect(MemberPage(wrong) == nil)
    wrong = whole
    wrong[4 + 20 * 5] = 8
    #expect(MemberPage(wrong) == nil)
    wrong = whole
    wrong[4 + 20 * 22 + 3] = 0xFF
    #expect(MemberPage(wrong) == nil)
  }
}
