import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A decoder")
struct StreamDecoderTests {
  private let text = SampleContent.text.bytes(100_000)

  @Test("reads the files of stock tools", arguments: CompressionFormat.writable, [1, 7, 1000, 1 << 20])
  func stockWrites(format: CompressionFormat, piece: Int) throws {
    for bytes in [[], [1], text] {
      let stock = try Outcome(shell: "\(format.toolName) -c", input: bytes)
      #expect(try format.decompressed(stock.output, piece: piece).equals(bytes))
      #expect(try format.decompressed(stock.output).equals(bytes))
    }
  }

  @Test("reads concatenated files", arguments: CompressionFormat.writable, [1, 4096])
  func concatenated(format: CompressionFormat, piece: Int) throws {
    let file = try format.compressed(text) + format.compressed([]) + format.compressed([1, 2])
    let decoder = try format.makeDecoder()
    #expect(try decoder.decompressed(file, piece: piece).equals(text + [1, 2]))
    #expect(decoder.frameCount == 3)
    #expect(try decoder.decompressed(file).equals(text + [1, 2]))
  }

  @Test("reads one file after another, also after a damaged one", arguments: CompressionFormat.writable)
  func reuse(format: CompressionFormat) throws {
    let decoder = try format.makeDecoder()
    let file = try format.compressed(text)
    #expect(throws: DecodingError.self) { try decoder.decompressed(Array(file.dropLast(9)), piece: 100) }
    #expect(try decoder.decompressed(file, piece: 100).equals(text))
    #expect(throws: DecodingError.self) { try decoder.decompressed([1, 2, 3], piece: 100) }
    #expect(try decoder.decompressed(file).equals(text))
  }

  @Test("returns as many bytes as requested", arguments: CompressionFormat.writable, [1, 3000, 1 << 20])
  func steps(format: CompressionFormat, piece: Int) throws {
    let file = try format.compressed(text) + format.compressed([]) + format.compressed([1, 2])
    let decoder = try format.makeDecoder()
    var content = [UInt8]()
    try file.withUnsafeBytes { raw in
      var rest = raw[...]
      while true {
        let input = UnsafeRawBufferPointer(rebasing: rest.prefix(piece))
        let step = try decoder.step(input)
        #expect(step.content.count <= StreamDecoder.pieceSize)
        content += step.content
        rest = rest.dropFirst(step.consumed)
        if rest.isEmpty, step.content.isEmpty { break }
      }
    }
    try decoder.finish()
    #expect(content.equals(text + [1, 2]))
  }

  @Test("reads gzip headers with name, time and extra field")
  func gzipHeader() throws {
    let folder = try TreeFixture()
    try folder.file("named", text)
    let stock = try Outcome(shell: "gzip -Nc named", in: folder)
    #expect(try CompressionFormat.gz.decompressed(stock.output).equals(text))
    #expect(try CompressionFormat.gz.decompressed(stock.output, piece: 3).equals(text))
  }

  @Test("reports a zstd frame that ends before the size in its header as damaged", arguments: [nil, 1])
  func zstdSize(piece: Int?) throws {
    // A content size of 20 bytes or of none, no checksum, and an empty last block.
    let cases: [(UInt8, CompressionDamage.Kind?)] = [(20, .corrupt), (0, nil)]
    for (size, kind) in cases {
      let frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, size, 1, 0, 0]
      #expect(try CompressionFormat.zst.damage(of: frame, piece: piece)?.kind == kind)
      #expect(try Outcome(shell: "zstd -t", input: frame).status == (kind == nil ? 0 : 1))
    }
  }

  @Test(
    "refuses an empty compressed block of zstd, and accepts an empty raw block", arguments: [nil, 1, 12])
  func zstdEmptyBlock(piece: Int?) throws {
    // The block and a last one with three bytes, once with the size in the header and once with a window.
    for start: [UInt8] in [[0x20, 3], [0, 0x58]] {
      for (block, isRight) in [([4, 0, 0], false), ([0, 0, 0], true)] as [([UInt8], Bool)] {
        let frame = [0x28, 0xb5, 0x2f, 0xfd] + start + block + [0x19, 0, 0, 97, 98, 99]
        #expect(try CompressionFormat.zst.damage(of: frame, piece: piece)?.kind == (isRight ? nil : .corrupt))
      }
    }
  }

  @Test("skips skippable frames of zstd in pieces of any size", arguments: [nil, 1, 3, 7])
  func zstdSkippable(piece: Int?) throws {
    let skippable: [UInt8] = [0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0, 4, 0, 0, 4, 0]
    let file = try skippable + CompressionFormat.zst.compressed([1, 2]) + skippable
    #expect(try CompressionFormat.zst.damage(of: file, piece: piece) == nil)
  }

  @Test("accepts zeros after gzip members, as tapes have them, and no data after the zeros")
  func gzipPadding() throws {
    let file = try CompressionFormat.gz.compressed(text)
    let zeros = [UInt8](repeating: 0, count: 512)
    #expect(try CompressionFormat.gz.decompressed(file + zeros).equals(text))
    let damage = try CompressionFormat.gz.damage(of: file + zeros + file)
    #expect(damage?.kind == .garbageAfterEnd)
    #expect(damage?.goodBytes == UInt64(text.count))
    #expect(try Outcome(shell: "gzip -t", input: file + zeros + file).status == 2)
  }

  @Test("judges the bytes after a gzip member as gzip does")
  func behindGzip() throws {
    // Short, since each file is also decoded byte by byte.
    let text = SampleContent.text.bytes(3000)
    let file = try CompressionFormat.gz.compressed(text)
    let zeros = [UInt8](repeating: 0, count: 512)
    // Cuts of a second member, from its first byte to the last byte but one.
    let cuts = (1..<file.count).filter { $0 < 40 || file.count - $0 < 40 }.map { Array(file[..<$0]) }
    let tails: [(bytes: [UInt8], kind: CompressionDamage.Kind?)] =
      cuts.map { ($0, .truncated) } + [
        ([0x41], .truncated), ([0x8B], .truncated), ([0x1F, 0x8B, 7, 0], .corrupt),
        ([0x1F, 0x8B, 8, 0xFF], .corrupt),
        ([0x1F, 0], .garbageAfterEnd), ([0x1F, 0x41], .garbageAfterEnd), ([0x41, 0], .garbageAfterEnd),
        (Array("garbage".utf8), .garbageAfterEnd), ([0], nil), (zeros, nil),
        (zeros + [0x1F], .garbageAfterEnd), (zeros + [0x41], .garbageAfterEnd),
        (zeros + file, .garbageAfterEnd),
      ]
    for (bytes, kind) in tails {
      for piece in [nil, 1, 1000] {
        let damage = try CompressionFormat.gz.damage(of: file + bytes, piece: piece)
        #expect(damage?.kind == kind, "\(bytes.prefix(8)), \(bytes.count) bytes, \(piece ?? 0)")
      }
      // gzip ends with 1 for an error, with 2 for a warning.
      let stock = try Outcome(shell: "gzip -t", input: file + bytes).status
      #expect(stock == (kind == nil ? 0 : kind == .garbageAfterEnd ? 2 : 1), "\(bytes.prefix(8))")
    }
  }

  @Test("accepts zeros in groups of four after and between xz streams", arguments: [1, 64])
  func xzPadding(piece: Int) throws {
    let file = try CompressionFormat.xz.compressed(text)
    let zeros: [UInt8] = [0, 0, 0, 0]
    let padded = file + zeros + file + zeros
    #expect(try CompressionFormat.xz.decompressed(padded, piece: piece).equals(text + text))
    for odd in [file + [0], file + [0, 0, 0] + file] {
      #expect(try CompressionFormat.xz.damage(of: odd, piece: piece)?.kind == .garbageAfterEnd)
      #expect(try CompressionFormat.xz.stockTest(odd).status != 0)
    }
  }

  @Test("skips skippable frames", arguments: [CompressionFormat.zst, .lz4], [1, 64])
  func skippable(format: CompressionFormat, piece: Int) throws {
    let skippable: [UInt8] = [0x53, 0x2A, 0x4D, 0x18, 5, 0, 0, 0, 1, 2, 3, 4, 5]
    let file = try skippable + format.compressed(text) + skippable
    #expect(try format.decompressed(file, piece: piece).equals(text))
    #expect(try format.decompressed(file).equals(text))
    #expect(try format.stockTest(file).status == 0)
  }

  @Test("reports garbage after the end, with all content before it", arguments: CompressionFormat.writable)
  func garbage(format: CompressionFormat) throws {
    let file = try format.compressed(text)
    for piece in [nil, 1, 1000] {
      let damage = try #require(try format.damage(of: file + Array("garbage".utf8), piece: piece))
      #expect(damage.kind == .garbageAfterEnd)
      #expect(damage.goodBytes == UInt64(text.count))
      #expect(damage.offset == UInt64(file.count))
    }
  }

  @Test("reports an empty file as truncated", arguments: CompressionFormat.writable)
  func empty(format: CompressionFormat) throws {
    #expect(try format.damage(of: [])?.kind == .truncated)
    #expect(try format.damage(of: [], piece: 1)?.kind == .truncated)
  }

  @Test("reports content of another kind", arguments: CompressionFormat.writable)
  func notCompressed(format: CompressionFormat) throws {
    #expect(try format.damage(of: Array("plain text".utf8))?.kind == .notCompressed)
    #expect(try format.damage(of: [0])?.kind == .notCompressed)
  }

  @Test("reports a file that is cut at any place as truncated", arguments: CompressionFormat.writable)
  func truncated(format: CompressionFormat) throws {
    let file = try format.compressed(SampleContent.text.bytes(3000))
    for count in 1..<file.count {
      #expect(try format.damage(of: Array(file[..<count]))?.kind == .truncated, "\(count)")
      #expect(try format.damage(of: Array(file[..<count]), piece: 64)?.kind == .truncated, "\(count)")
    }
  }

  @Test("reports wrong checks", arguments: CompressionFormat.writable)
  func checksum(format: CompressionFormat) throws {
    var file = try format.compressed(text)
    // The check of gz is followed by the length, that of xz by an index of 16 bytes and the footer.
    file[file.count - (format == .gz ? 8 : format == .xz ? 29 : 1)] ^= 1
    #expect(try format.damage(of: file)?.kind == .checksum)
    #expect(try format.damage(of: file, piece: 100)?.kind == .checksum)
  }

  @Test("reports a wrong gzip length")
  func gzipLength() throws {
    var file = try CompressionFormat.gz.compressed(text)
    file[file.count - 4] ^= 1
    #expect(try CompressionFormat.gz.damage(of: file)?.kind == .checksum)
  }

  @Test("stops at the limit of its output", arguments: CompressionFormat.writable)
  func limit(format: CompressionFormat) throws {
    let file = try format.compressed([UInt8](repeating: 0, count: 1_000_000))
    for piece in [nil, 100] {
      let damage = try format.damage(of: file, piece: piece, DecoderOptions(maximumOutput: 999_999))
      #expect(damage?.kind == .tooLarge)
      #expect((damage?.goodBytes ?? .max) <= 999_999)
      #expect(try format.damage(of: file, piece: piece, DecoderOptions(maximumOutput: 1_000_000)) == nil)
    }
  }

  @Test("refuses the windows of zstd --long without permission")
  func longWindow() throws {
    let bytes = SampleContent.text.bytes(2_000_000)
    let frame = try Outcome(shell: "zstd -q --long=28 -c", input: bytes).output
    #expect(try CompressionFormat.zst.decompressed(frame, DecoderOptions(windowLog: 31)).equals(bytes))
    let error = #expect(throws: DecodingError.self) {
      try CompressionFormat.zst.decompressed(frame, piece: 999)
    }
    guard case .failed(let cause) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.code == .exhausted)
    expectError(.invalid) { try CompressionFormat.zst.makeDecoder(DecoderOptions(windowLog: 32)) }
  }

  @Test("limits its memory for xz")
  func memory() throws {
    let file = try Outcome(shell: "xz -9 -c", input: text).output
    #expect(try CompressionFormat.xz.decompressed(file).equals(text))
    let options = DecoderOptions(memoryLimit: 16 << 20)
    let error = #expect(throws: DecodingError.self) { try CompressionFormat.xz.decompressed(file, options) }
    guard case .failed(let cause) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.code == .exhausted)
  }

  @Test("rethrows the error of its receiver", arguments: CompressionFormat.writable)
  func takerFails(format: CompressionFormat) throws {
    let file = try format.compressed(text)
    let full = BatchError(.unwritable, "cannot write")
    let decoder = try format.makeDecoder()
    var error: DecodingError?
    file.withUnsafeBytes { bytes in
      do throws(DecodingError) {
        try decoder.decode(wholeFile: bytes) { _ throws(BatchError) in throw full }
      } catch let thrown {
        error = thrown
      }
    }
    #expect(error == .failed(full))
  }

  @Test(
    "never accepts damaged content as complete", arguments: CompressionFormat.writable,
    0..<UInt64(Campaign.isFull ? 200 : 70))
  func flippedBits(format: CompressionFormat, seed: UInt64) throws {
    var chance = SeededNumbers(seed: seed)
    let level = format.levels.lowerBound
    let content = SampleContent.mixed.bytes(20_000, seed: seed % 7)
    var file =
      try seed.isMultiple(of: 2)
      ? format.compressed(content, level: level) : format.compressedInBlocks(content, level: level)
    let isCut = seed.isMultiple(of: 5)
    if isCut {
      file.removeLast(Int(chance.next() % UInt64(file.count)) + 1)
    } else {
      for _ in 0...(seed % 3) {
        file[Int(chance.next() % UInt64(file.count))] ^= 1 << UInt8(chance.next() % 8)
      }
    }
    for piece in [nil, 997] {
      do {
        // Bits that do not affect the content, such as those of the time in gzip's header, may be changed.
        let decoded = try format.decompressed(file, piece: piece)
        #expect(decoded.equals(content) && !isCut)
      } catch is DecodingError {
        continue
      }
    }
  }
}
