import CZstd
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct MemberIndexBuilderTests {
  /// Reads numbers from the start of bytes.
  private struct Cursor {
    var rest: ArraySlice<UInt8>
    /// The length of the stored frame in bytes.
    var stored = 0

    mutating func take(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
      take(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
  }

  /// The content of the next frame.
  private func decompressed(_ frames: ArraySlice<UInt8>) throws -> Cursor {
    let bytes = Array(frames)
    let length = ZSTD_findFrameCompressedSize(bytes, bytes.count)
    let size = Int(ZSTD_getFrameContentSize(bytes, bytes.count))
    var plain = [UInt8](repeating: 0, count: size)
    #expect(ZSTD_decompress(&plain, size, bytes, length) == size)
    return Cursor(rest: plain[...], stored: length)
  }

  private func member(_ number: Int, digest: Digest?) -> ArchivedMember {
    ArchivedMember(
      ArchiveEntry(
        path: PathBytes("folder/file-\(number)"), kind: digest == nil ? .directory : .file,
        size: digest == nil ? 0 : UInt64(number),
        modified: FileStatus.Time(seconds: -1 - Int64(number), nanoseconds: 999_999_999)),
      offset: number * 512, header: HeaderChecksum(size: 1536, check: UInt32(number)), digest: digest)
  }

  @Test(arguments: [0, 1, 3, 40_000]) func holdsTheAddedMembers(count: Int) throws {
    let stream = try DigestStream(.sha256)
    let builder = try MemberIndexBuilder()
    var digests: [Digest?] = []
    for number in 0..<count {
      let digest =
        try number % 3 == 0
        ? nil
        : withBytes(of: Array("\(number)".utf8)) { (raw) throws(BatchError) in try stream.digest(of: raw) }
      digests.append(digest)
      try builder.add(member(number, digest: digest), frame: UInt32(number / 10))
    }
    let places = [
      MemberIndex.Frame(compressed: 0..<7, plain: 0..<512, check: 3),
      MemberIndex.Frame(
        compressed: 7..<(7 + (1 << 40)), plain: 512..<(512 + (1 << 41)), check: .max),
    ]
    let extent = try builder.finish(places)
    let stored = try extent.bytes(0..<extent.count)
    var end = Cursor(rest: stored.suffix(48))
    let pagesLength = end.number(Int.self)
    let headLength = end.number(Int.self)
    let digest = Array(end.rest)
    let compressed = Array(stored[..<(pagesLength + headLength)])
    let checks = Array(stored[compressed.count..<(stored.count - 48)])
    #expect(try sha256(compressed + stored.suffix(48).prefix(16)) == digest)
    var head = Cursor(rest: try decompressed(compressed[pagesLength...]).rest)
    #expect(head.take(8) == Array("BPIDX004".utf8))
    #expect(head.number(UInt64.self) == UInt64(count))
    var total: UInt64 = 0
    for number in 0..<count where number % 3 != 0 { total += UInt64(number) }
    #expect(head.number(UInt64.self) == total)
    #expect(head.number(UInt64.self) == 2)
    let pageCount = Int(head.number(UInt64.self))
    #expect(pageCount == (count + 8191) / 8192)
    for place in places {
      for number in [
        place.compressed.lowerBound, place.compressedSize, place.plain.lowerBound, place.plainSize,
      ] {
        #expect(head.number(UInt64.self) == number)
      }
      #expect(head.number(UInt32.self) == place.check)
    }
    let pages = (0..<pageCount).map { _ in
      (head.number(Int.self), head.number(Int.self), head.number(UInt32.self), head.number(UInt32.self))
    }
    #expect(try sha256(checks) == Array(head.rest))
    var rest = compressed[..<pagesLength]
    var differences = 0
    for first in stride(from: 0, to: count, by: 8192) {
      let numbers = first..<min(count, first + 8192)
      let expected = numbers.map { member($0, digest: digests[$0]) }
      var page = try decompressed(rest)
      rest = rest.dropFirst(page.stored)
      let place = first / 8192
      try #require(place < pages.count)
      let told = pages[place]
      #expect(told.0 == page.stored && told.1 == page.rest.count && told.2 == UInt32(numbers.count))
      #expect(told.3 == UInt32(expected.count { $0.digest != nil }))
      #expect(page.number(UInt32.self) == UInt32(numbers.count))
      let lengths = expected.map { _ in Int(page.number(UInt32.self)) }
      var isSame = expected.allSatisfy { page.number(UInt8.self) == $0.kind.rawValue }
      isSame = isSame && expected.allSatisfy { page.number(UInt8.self) == ($0.digest == nil ? 0 : 1) }
      isSame = isSame && expected.allSatisfy { page.number(UInt64.self) == $0.size }
      isSame = isSame && expected.allSatisfy { page.number(Int64.self) == $0.modified.seconds }
      isSame = isSame && expected.allSatisfy { _ in page.number(UInt32.self) == 999_999_999 }
      isSame = isSame && numbers.allSatisfy { page.number(UInt32.self) == UInt32($0 / 10) }
      isSame = isSame && numbers.allSatisfy { page.number(UInt64.self) == UInt64($0 * 512) }
      isSame = isSame && expected.allSatisfy { _ in page.number(UInt32.self) == 1536 }
      isSame = isSame && zip(lengths, expected).allSatisfy { page.take($0) == $1.path.bytes }
      if !isSame || !page.rest.isEmpty { differences += 1 }
    }
    #expect(differences == 0 && rest.isEmpty)
    var numbers = Cursor(rest: checks[...])
    #expect((0..<count).allSatisfy { numbers.number(UInt32.self) == UInt32($0) })
    #expect(Array(numbers.rest) == digests.flatMap { $0?.bytes ?? [] })
  }

  private func sha256(_ bytes: [UInt8]) throws -> [UInt8] {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try DigestStream(.sha256).digest(of: raw) }.bytes
  }
}
