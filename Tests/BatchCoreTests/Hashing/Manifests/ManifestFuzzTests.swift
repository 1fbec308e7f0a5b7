import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ManifestFuzzTests {
  /// A generator with the same numbers in every run (SplitMix64).
  struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
      return mixed ^ mixed >> 31
    }
  }

  /// A valid manifest of each format.
  static func seeds() throws -> [[UInt8]] {
    var seeds = try ManifestFormat.allCases.map { format in
      let writer = try ManifestWriter(format, algorithms: [.sha256, .md5])
      var output = [UInt8]()
      writer.appendHeader(to: &output)
      for name in HostileNames.withoutNewline {
        let digests = try [.sha256, .md5].map { try Digest.of(name.bytes, $0) }
        let row = ManifestRow(
          path: name, digests: digests, size: 5, modified: FileStatus.Time(seconds: -1, nanoseconds: 9))
        try writer.append(row, to: &output)
      }
      return output
    }
    seeds.append(
      Array(
        """
        /set type=file
        . type=dir
        a size=3 time=5.7 md5digest=900150983cd24fb0d6963f7d28e17f72
        b\\040c type=dir
        d md5=900150983cd24fb0d6963f7d28e17f72 \\
          sha1=a9993e364706816aba3e25717850c26c9cd0d89d
        ..
        ..
        /unset all

        """.utf8))
    return seeds
  }

  private static let marks = Array("\\\n\r\0\t #%{}\"(),=-./0189afgsSu\u{feff}".utf8)

  private func mutate(_ bytes: inout [UInt8], with generator: inout Generator) {
    for _ in 0..<Int.random(in: 1...8, using: &generator) where !bytes.isEmpty {
      let position = Int.random(in: 0..<bytes.count, using: &generator)
      let end = min(bytes.count, position + Int.random(in: 0...80, using: &generator))
      let mark = Self.marks.randomElement(using: &generator) ?? 0
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: bytes[position] = mark
      case 1: bytes[position] = UInt8.random(in: 0...255, using: &generator)
      case 2: bytes.insert(mark, at: position)
      case 3: bytes.removeSubrange(position..<end)
      case 4: bytes.insert(contentsOf: Array(bytes[position..<end]), at: bytes.count / 2)
      default: bytes.removeSubrange(end...)
      }
    }
  }

  @Test(arguments: 0..<6, [false, true])
  func anyDamageIsReportedByLine(seed: Int, zero: Bool) throws {
    let original = try Self.seeds()[seed]
    var generator = Generator(state: UInt64(seed))
    for _ in 0..<(Campaign.isFull ? 300 : 60) {
      var bytes = original
      mutate(&bytes, with: &generator)
      let items = try ManifestReader.items(in: bytes, .init(zero: zero))
      let lines = items.map { item in
        switch item {
        case .entry(let entry): entry.line
        case .malformed(let line, _), .text(let line, _): line
        }
      }
      let lineCount = bytes.count { $0 == (zero ? 0 : UInt8(ascii: "\n")) } + 1
      #expect(lines.allSatisfy { $0 >= 1 && $0 <= lineCount })
      #expect(zip(lines, lines.dropFirst()).allSatisfy { $0 < $1 })
      for case .entry(let entry) in items {
        #expect(!entry.digests.isEmpty)
        #expect(!entry.path.containsNUL)
      }
    }
  }
}
