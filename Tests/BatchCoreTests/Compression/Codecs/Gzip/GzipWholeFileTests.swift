import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Decodes gzip files at once by libdeflate, and in pieces by ISA-L, and compares both with zlib.
@Suite(.timeLimit(.minutes(3))) struct GzipWholeFileTests {
  /// The content and the damage of a file.
  private struct Result: Equatable {
    var content: [UInt8] = []
    var damage: CompressionDamage?

    static func == (one: Self, other: Self) -> Bool {
      one.damage == other.damage && one.content.equals(other.content)
    }
  }

  private let decoder: StreamDecoder
  private let members: [[UInt8]]

  init() throws {
    decoder = try CompressionFormat.gz.makeDecoder(DecoderOptions())
    members = try [
      CompressionFormat.gz.compressed([]), CompressionFormat.gz.compressed([7]),
      CompressionFormat.gz.compressed(SampleContent.text.bytes(700)),
      CompressionFormat.gz.compressed(SampleContent.text.bytes(40_000), level: 1),
      CompressionFormat.gz.compressed(SampleContent.noise.bytes(3000)),
      CompressionFormat.gz.compressed(SampleContent.zeros.bytes(100_000), level: 9),
      CompressionFormat.gz.compressed(SampleContent.mixed.bytes(60_000)),
    ]
  }

  private func decode(_ bytes: [UInt8], piece: Int?, isHasty: Bool = false) throws -> Result {
    var result = Result()
    do throws(DecodingError) {
      try withAll(bytes) { (all) throws(DecodingError) in
        guard let piece else {
          return try decoder.decode(wholeFile: all) { content in result.content += content }
        }
        decoder.reset(isHasty: isHasty)
        for start in stride(from: 0, to: all.count, by: piece) {
          let part = UnsafeRawBufferPointer(rebasing: all[start..<min(all.count, start + piece)])
          try decoder.decode(part) { content in result.content += content }
        }
        try decoder.finish()
      }
    } catch {
      guard case .damaged(let damage) = error else { throw error }
      result.damage = damage
    }
    return result
  }

  /// Passes the bytes to a closure with a typed throw.
  private func withAll(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(DecodingError) -> Void
  ) throws(DecodingError) {
    try bytes.withUnsafeBytes { raw in Swift.Result { () throws(DecodingError) in try body(raw) } }.get()
  }

  /// The member with other header fields.
  private func member(_ member: [UInt8], flags: UInt8, fields: [UInt8], checkFlip: UInt16? = nil) throws
    -> [UInt8]
  {
    var header = Array(member[..<10])
    #expect(header[3] == 0)
    header[3] = flags
    header += fields
    if let checkFlip {
      let digest = try Digest.of(header, .crc32).bytes
      let check = (UInt16(digest[2]) << 8 | UInt16(digest[3])) ^ checkFlip
      header += [UInt8(check & 255), UInt8(check >> 8)]
    }
    return header + member[10...]
  }

  @Test func allHeadersAreReadInBothWays() throws {
    let plain = members[2]
    let content = SampleContent.text.bytes(700)
    let name = Array("name.txt".utf8) + [0]
    let whole = try [
      member(plain, flags: 1, fields: []), member(plain, flags: 8, fields: name),
      member(plain, flags: 16, fields: name), member(plain, flags: 4, fields: [3, 0, 1, 2, 3]),
      member(plain, flags: 28, fields: [0, 0] + name + name),
      member(plain, flags: 2, fields: [], checkFlip: 0), member(plain, flags: 10, fields: name, checkFlip: 0),
    ]
    for file in whole {
      for piece in [nil, 1, 1000] {
        #expect(try decode(file, piece: piece) == Result(content: content))
        #expect(try decode(file, piece: piece, isHasty: true) == Result(content: content))
      }
    }
    let damaged = try [
      member(plain, flags: 2, fields: [], checkFlip: 1),
      member(plain, flags: 10, fields: name, checkFlip: 256),
      member(plain, flags: 32, fields: []), member(plain, flags: 128, fields: []),
    ]
    for file in damaged {
      let expected = try decode(file, piece: file.count)
      #expect(expected.damage != nil)
      #expect(try decode(file, piece: nil) == expected)
      #expect(try decode(file, piece: file.count, isHasty: true).damage?.kind == expected.damage?.kind)
    }
  }

  /// ISA-L must accept the files that zlib accepts. Damage that it reports is checked again by zlib when
  /// possible.
  private func compareInHaste(_ file: [UInt8], with expected: Result, piece: Int) throws {
    let found = try decode(file, piece: piece, isHasty: true)
    guard let damage = expected.damage else {
      return #expect(found == expected, "by ISA-L in pieces of \(piece): \(file)")
    }
    #expect(found.damage != nil, "by ISA-L in pieces of \(piece), \(damage): \(file)")
    if damage.kind == .garbageAfterEnd || damage.kind == .notCompressed {
      #expect(found == expected, "by ISA-L in pieces of \(piece): \(file)")
    }
  }

  @Test func contentThatWasWrittenBeforeIsLeftOut() throws {
    let content = SampleContent.mixed.bytes(60_000)
    for count in [0, 1, 59_999, 60_000, 70_000] {
      var rest: [UInt8] = []
      decoder.reset(leavingOut: UInt64(count))
      try withAll(members[6]) { (all) throws(DecodingError) in
        try decoder.decode(all) { piece in rest += piece }
        try decoder.finish()
      }
      #expect(rest == Array(content.dropFirst(count)))
      #expect(decoder.plainCount == 60_000)
    }
  }

  @Test func damagedAndJoinedFilesGiveTheSameResultInBothWays() throws {
    var chance = SeededNumbers(seed: 1952)
    var (whole, damaged) = (0, 0)
    for _ in 0..<Campaign.cases(20_000) {
      var file = members.randomElement(using: &chance) ?? []
      switch Int.random(in: 0..<8, using: &chance) {
      case 0: break
      case 1: file += members.randomElement(using: &chance) ?? []
      case 2: file.removeLast(Int.random(in: 1...file.count, using: &chance))
      case 3: file += chance.bytes(1...20, of: [0, 0x1F, 0x8B, 8])
      case 4: file += [UInt8](repeating: 0, count: Int.random(in: 1...600, using: &chance))
      case 5:
        let start = Int.random(in: 0..<file.count, using: &chance)
        file.removeSubrange(start..<Int.random(in: start...file.count, using: &chance))
      default:
        // Changes near the ends are more frequent, since the headers and the checks are there.
        for _ in 0..<Int.random(in: 1...2, using: &chance) {
          let reach = Bool.random(using: &chance) ? file.count : min(file.count, 24)
          let place = Int.random(in: 0..<reach, using: &chance)
          file[Bool.random(using: &chance) ? place : file.count - 1 - place] ^=
            1 << UInt8.random(in: 0...7, using: &chance)
        }
      }
      let pieces = try decode(file, piece: max(1, file.count))
      let atOnce = try decode(file, piece: nil)
      if pieces.damage == nil { whole += 1 } else { damaged += 1 }
      try compareInHaste(file, with: pieces, piece: Int.random(in: 1...max(1, file.count), using: &chance))
      guard atOnce != pieces else { continue }
      Issue.record("\(atOnce.damage as Any) by libdeflate, \(pieces.damage as Any) by zlib: \(file)")
      return
    }
    #expect(whole > 50)
    #expect(damaged > 50)
  }
}
