import CZstd
import Testing

@testable import BatchCore

@Suite struct MemberIndexBuilderTests {
  /// Reads numbers from the start of bytes.
  private struct Cursor {
    var rest: ArraySlice<UInt8>

    mutating func take(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
      take(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
  }

  private func decompressed(_ bytes: [UInt8]) throws -> [UInt8] {
    let size = Int(ZSTD_getFrameContentSize(bytes, bytes.count))
    var plain = [UInt8](repeating: 0, count: size)
    #expect(ZSTD_decompress(&plain, size, bytes, bytes.count) == size)
    return plain
  }

  private func member(_ number: Int, digest: Digest?) -> ArchivedMember {
    ArchivedMember(
      ArchiveEntry(
        path: PathBytes("folder/file-\(number)"), kind: digest == nil ? .directory : .file,
        size: digest == nil ? 0 : UInt64(number),
        modified: FileStatus.Time(seconds: -1 - Int64(number), nanoseconds: 999_999_999)),
      offset: number * 512, header: HeaderCheck(size: 1536, check: UInt32(number)), digest: digest)
  }

  @Test(arguments: [0, 1, 3, 40_000]) func holdsWhatWasAdded(count: Int) throws {
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
      FramePlace(offset: 0, size: 7, plainOffset: 0, plainSize: 512, check: 3),
      FramePlace(offset: 7, size: 1 << 40, plainOffset: 512, plainSize: 1 << 41, check: .max),
    ]
    let stored = try builder.finish(places)
    var end = Cursor(rest: stored.suffix(12))
    let length = end.number(Int.self)
    let table = stored[length..<(stored.count - 12)]
    let plain = try decompressed(Array(stored[..<length]))
    var cursor = Cursor(rest: plain[...])
    #expect(cursor.take(8) == Array("BPIDX002".utf8))
    #expect(cursor.number(UInt64.self) == UInt64(count))
    var total: UInt64 = 0
    for number in 0..<count where number % 3 != 0 { total += UInt64(number) }
    #expect(cursor.number(UInt64.self) == total)
    #expect(cursor.number(UInt64.self) == 2)
    for place in places {
      for number in [place.offset, place.size, place.plainOffset, place.plainSize] {
        #expect(cursor.number(UInt64.self) == number)
      }
      #expect(cursor.number(UInt32.self) == place.check)
    }
    var differences = 0
    for number in 0..<count {
      let expected = member(number, digest: digests[number])
      let path = cursor.take(Int(cursor.number(UInt32.self)))
      var isSame = path == expected.path.bytes
      isSame = isSame && cursor.number(UInt8.self) == expected.kind.typeFlag
      isSame = isSame && cursor.number(UInt64.self) == expected.size
      isSame = isSame && cursor.number(Int64.self) == expected.modified.seconds
      isSame = isSame && cursor.number(UInt32.self) == 999_999_999
      isSame = isSame && cursor.number(UInt32.self) == UInt32(number / 10)
      isSame = isSame && cursor.number(UInt64.self) == UInt64(number * 512)
      isSame = isSame && cursor.number(UInt32.self) == 1536
      isSame = isSame && cursor.number(UInt8.self) == (expected.digest == nil ? 0 : 1)
      if !isSame { differences += 1 }
    }
    #expect(differences == 0)
    var checks = Cursor(rest: table)
    #expect((0..<count).allSatisfy { checks.number(UInt32.self) == UInt32($0) })
    #expect(Array(checks.rest) == digests.flatMap { $0?.bytes ?? [] })
    for (bytes, end) in [(Array(table), cursor.take(32)), (plain.dropLast(32), Array(cursor.rest))] {
      let expected = try withBytes(of: bytes) { (raw) throws(BatchError) in try stream.digest(of: raw) }
      #expect(end == expected.bytes)
    }
  }
}
