import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Parts of a .bz2 file", .timeLimit(.minutes(5)))
struct BZip2PartDecoderTests {
  /// - Returns: the content that was passed on, and whether it is all.
  private func decoded(
    _ file: [UInt8], rangeSize: UInt64, width: Int = 2
  ) throws -> (content: [UInt8], isWhole: Bool) {
    let size = UInt64(file.count)
    let found = try #require(BZip2PartDecoder.parts(size: size, rangeSize: rangeSize))
    let level = file.count > 3 ? file[3] : 0
    let decoder = BZip2PartDecoder(size: size, level: level, width: width, budget: PartBudget()) {
      buffer, offset in
      guard let start = Int(exactly: offset), start + buffer.count <= file.count else { return false }
      file.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<(start + buffer.count)]))
      }
      return true
    }
    let pipeline = PartPipeline(found.parts, width: width, ahead: 2 * width, largest: 64 << 20) {
      decoder.measure($0, &$1, &$2)
    }
    var (chain, index, content) = (BZip2Chain(level: level), 0, [UInt8]())
    var isNext = true
    let isWhole = try pipeline.run { (part) throws(BatchError) in
      if isNext {
        isNext = try decoder.receive(
          part, of: found.parts[index], chain: &chain, checking: { () throws(BatchError) in }
        ) { (piece) throws(BatchError) in content += Array(piece) }
      }
      index += 1
    }
    return (content, isWhole && isNext && chain.isEnd(size))
  }

  /// What one lane passes on, and whether it finds no damage.
  ///
  /// - Parameter pieceSize: bytes that are read at a time.
  private func sequential(
    _ file: [UInt8], pieceSize: Int = .max
  ) throws -> (content: [UInt8], isWhole: Bool) {
    var content: [UInt8] = []
    let decoder = try CompressionFormat.bz2.makeDecoder()
    do {
      var rest = file[...]
      while !rest.isEmpty {
        try Array(rest.prefix(pieceSize)).withUnsafeBytes { raw in
          try decoder.decode(raw) { (piece) throws(BatchError) in content += Array(piece) }
        }
        rest = rest.dropFirst(pieceSize)
      }
      try decoder.finish()
      return (content, true)
    } catch is DecodingError {
      return (content, false)
    }
  }

  @Test(
    "have the content of the file, at every level and size",
    arguments: Campaign.isFull ? Array(1...9) : [1, 9],
    SampleContent.allCases)
  func good(level: Int, sample: SampleContent) throws {
    let block = 100_000 * level
    // Each range is searched together with much behind it, so many ranges take long without optimization.
    let (most, rangeSizes): (Int, [UInt64]) =
      Campaign.isFull ? (500, [64, 5000, 256 << 10]) : (120, [64, 600, 16_000, 256 << 10])
    // A block has room for 19 bytes less than its level says; the lowest level has all sizes near this limit.
    let sizes: [Int] =
      level == 1 || Campaign.isFull
      ? [0, 1, block - 20, block - 19, block - 18, block, 2 * block + 7] : [0, 1, block - 18, 2 * block + 7]
    for count in sizes {
      let content = sample.bytes(count)
      let file = try CompressionFormat.bz2.compressed(content, level: level)
      for rangeSize in rangeSizes where file.count / Int(rangeSize) < most {
        let result = try decoded(file, rangeSize: rangeSize)
        #expect(result.isWhole && result.content.equals(content), "\(count) bytes, \(rangeSize)")
      }
    }
  }

  @Test("may belong to several streams of several levels, also empty ones", arguments: [1, 2, 7])
  func streams(width: Int) throws {
    var (file, content) = ([UInt8](), [UInt8]())
    for (index, level) in [1, 9, 3, 3, 1].enumerated() {
      let plain = SampleContent.mixed.bytes(index == 2 ? 0 : 45_000 * (index + 1), seed: UInt64(index))
      content += plain
      file += try CompressionFormat.bz2.compressed(plain, level: level)
    }
    for rangeSize in [2000, 20_000] as [UInt64] {
      let result = try decoded(file, rangeSize: rangeSize, width: width)
      #expect(result.isWhole && result.content.equals(content))
    }
  }

  @Test("of large content are decoded piece by piece")
  func large() throws {
    // More than the memory for the content of a range, which is 64 MiB.
    let content = [UInt8](repeating: 7, count: 80 << 20)
    let file = try CompressionFormat.bz2.compressed(content, level: 9)
    let result = try decoded(file, rangeSize: 4096)
    #expect(result.isWhole && result.content.equals(content))
  }

  @Test("of a damaged file are passed on only up to the damage", arguments: SampleContent.allCases)
  func damage(sample: SampleContent) throws {
    var chance = SeededNumbers(seed: 5)
    let format = CompressionFormat.bz2
    let good =
      try format.compressed(sample.bytes(205_000), level: 1)
      + format.compressed(sample.bytes(40_000), level: 2)
    // Twelve turns combine each kind of damage with each size of the ranges.
    for turn in 0..<(Campaign.isFull ? 120 : 12) {
      var file = good
      let place = Int(chance.next() % UInt64(file.count))
      switch turn % 4 {
      case 0: file[place] ^= 1 << UInt8(chance.next() % 8)
      case 1: file = Array(file[..<place])
      case 2: file.insert(UInt8(truncatingIfNeeded: chance.next()), at: place)
      default: file += (0...(turn / 4)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
      }
      let expected = try sequential(file)
      // At most a hundred ranges, each of which is searched together with much behind it.
      let small = UInt64(max(300, file.count / 100))
      let result = try decoded(file, rangeSize: [small, 4000, 1 << 20][turn % 3])
      #expect(!result.isWhole || expected.isWhole, "\(turn)")
      #expect(Array(expected.content.prefix(result.content.count)).equals(result.content), "\(turn)")
      let inPieces = try sequential(file, pieceSize: 10_000)
      #expect(inPieces.content.equals(expected.content) && inPieces.isWhole == expected.isWhole, "\(turn)")
      if result.isWhole { #expect(expected.content.equals(result.content), "\(turn)") }
    }
  }

  @Test("with a wrong CRC-32 of the stream are not accepted")
  func check() throws {
    var file = try CompressionFormat.bz2.compressed(SampleContent.text.bytes(250_000), level: 1)
    // The last byte contains bits of the CRC or of the padding, the one before it only of the CRC.
    file[file.count - 2] ^= 1
    #expect(try !decoded(file, rangeSize: 1000).isWhole)
  }

  @Test("begin at marks at any bit")
  func marks() {
    for bit in 0..<40 {
      for (mark, isEnd) in [(BZip2MarkScanner.block, false), (BZip2MarkScanner.end, true)] {
        var bytes = [UInt8](repeating: 0xA5, count: 40)
        for index in 0..<48 {
          let (place, value) = (bit + index, UInt8(mark >> UInt64(47 - index) & 1))
          bytes[place / 8] = bytes[place / 8] & ~(0x80 >> UInt8(place % 8)) | value << UInt8(7 - place % 8)
        }
        var found: [BZip2MarkScanner.Mark] = []
        bytes.withUnsafeBytes { BZip2MarkScanner.scan($0, from: 0) { found.append($0) } }
        #expect(found == [BZip2MarkScanner.Mark(bit: bit, isEnd: isEnd)])
      }
    }
  }
}
