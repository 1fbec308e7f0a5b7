import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

/// Formats that are decoded and never written, compared with the tools that write them.
@Suite("Formats that are only read", .timeLimit(.minutes(3)))
struct ReadOnlyFormatTests {
  struct Writer: Sendable, CustomTestStringConvertible {
    let format: CompressionFormat
    let command: String
    let decoding: String
    var testDescription: String { command }
  }

  static let writers =
    [10, 12, 16].map { Writer(format: .lzw, command: "compress -c -f -b \($0)", decoding: "gzip -dc") } + [
      Writer(format: .lz, command: "lzip -c", decoding: "lzip -dc"),
      Writer(format: .lz, command: "lzip -c -b 100000", decoding: "lzip -dc"),
      Writer(format: .lzma, command: "xz --format=lzma -c", decoding: "xz --format=lzma -dc"),
      Writer(format: .lzma, command: "xz --format=lzma -c -0", decoding: "xz --format=lzma -dc"),
      Writer(format: .bz2, command: "bzip2 -c", decoding: "bzip2 -dc"),
    ]

  @Test("are decoded to the content that the stock tool encoded", arguments: writers, SampleContent.allCases)
  func content(writer: Writer, content: SampleContent) throws {
    for count in [1, 2, 300, 5000, 110_000] {
      let bytes = content.bytes(count)
      let stock = try Outcome(shell: writer.command, input: bytes)
      #expect(CompressionFormat.detect(stock.output) == (writer.format == .lzma ? nil : writer.format))
      stock.output.withUnsafeBytes { #expect(CompressionFormat.detect($0, named: "x.lzma") == writer.format) }
      for piece in [nil, 1 << 16, count > 5000 ? 4096 : 1] {
        #expect(
          try writer.format.decompressed(stock.output, piece: piece).equals(bytes), "\(count), \(piece ?? 0)")
      }
    }
  }

  @Test("are decoded when they are empty", arguments: writers)
  func empty(writer: Writer) throws {
    let stock = try Outcome(shell: writer.command, input: [])
    let file = writer.format == .lzw ? [0x1F, 0x9D, 0x90] : stock.output
    #expect(try writer.format.decompressed(file).isEmpty)
    #expect(CompressionFormat.detect(file) == (writer.format == .lzma ? nil : writer.format))
  }

  @Test("give the same bytes as the stock tool for a damaged file, or an error", arguments: writers)
  func damage(writer: Writer) throws {
    let bytes = SampleContent.mixed.bytes(20_000)
    let whole = try Outcome(shell: writer.command, input: bytes).output
    var chance = SeededNumbers(seed: 7)
    var refused = 0
    for round in 0..<40 {
      var file = whole
      if round % 4 == 0 {
        file.removeLast(Int(chance.next() % UInt64(file.count - 3)) + 1)
      } else {
        file[Int(chance.next() % UInt64(file.count))] ^= UInt8(1 << (chance.next() % 8))
      }
      guard let content = try? writer.format.decompressed(file, piece: 999) else {
        refused += 1
        continue
      }
      let stock = try Outcome(shell: writer.decoding, input: file)
      #expect(stock.status == 0 && content.equals(stock.output), "\(round)")
    }
    // The codes of compress(1) have no check, so most damage changes the content, for the stock tool as well.
    #expect(refused >= (writer.format == .lzw ? 0 : 25), "\(refused)")
  }

  @Test("report a cut file as truncated when the format marks its end", arguments: writers)
  func truncated(writer: Writer) throws {
    let file = try Outcome(shell: writer.command, input: SampleContent.text.bytes(900))
      .output
    for count in 1..<file.count {
      let damage = try writer.format.damage(of: Array(file[..<count]), piece: 64)
      if writer.format == .lzw, count > 2 {
        // The remaining bits may be the padding of the last byte.
        #expect(damage == nil || damage?.kind == .truncated, "\(count)")
      } else {
        #expect(damage?.kind == .truncated, "\(count)")
      }
    }
  }

  @Test("refuse invalid headers")
  func headers() throws {
    for flags: UInt8 in [0x88, 0x91, 0x9F, 0xB0, 0xD0] {
      #expect(CompressionFormat.detect([0x1F, 0x9D, flags, 0x41, 0, 0]) == nil)
      #expect(try CompressionFormat.lzw.damage(of: [0x1F, 0x9D, flags, 0x41, 0, 0])?.kind == .corrupt)
    }
    // A first code that is not a byte, and a code that is not yet defined.
    #expect(try CompressionFormat.lzw.damage(of: [0x1F, 0x9D, 0x90, 0xFF, 0xFF, 0])?.kind == .corrupt)
    #expect(try CompressionFormat.lzw.damage(of: [0x1F, 0x9D, 0x90, 0x41, 0xFE, 0xFF])?.kind == .corrupt)
    let header: [UInt8] = [0x5D, 0, 0, 0x80, 0] + [UInt8](repeating: 0xFF, count: 8)
    for (place, byte) in [(0, 225), (1, 1), (4, 5), (12, 1)] as [(Int, UInt8)] {
      var other = header
      other[place] = byte
      #expect(try CompressionFormat.lzma.damage(of: other)?.kind == .notCompressed, "\(place)")
    }
    #expect(try CompressionFormat.lzma.damage(of: header)?.kind == .truncated)
    // A decoder may not use a dictionary of 3 GiB.
    #expect(throws: DecodingError.self) {
      try CompressionFormat.lzma.decompressed(
        [0x5D, 0, 0, 0, 0xC0] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 0])
    }
  }

  @Test("are not written", arguments: [CompressionFormat.lz, .lzma, .lzw])
  func writing(format: CompressionFormat) {
    expectError(.invalid) { try format.makeContext() }
    expectError(.invalid) { try BlockPlan(format, fileSize: 1) }
  }
}
