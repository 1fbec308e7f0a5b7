import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The parts of a compressed file")
struct PartScannerTests {
  @Test("give the whole content when each is decoded separately", arguments: [CompressionFormat.zst, .xz])
  func parts(format: CompressionFormat) throws {
    let level = format.levels.lowerBound
    let block = try BlockPlan(format, level: level, fileSize: nil).blockSize
    let content = SampleContent.mixed.bytes(2 * block + 1234)
    let file = try format.compressedInBlocks(content, level: level)
    let parts = try #require(try scan(format, file))
    #expect(parts.count == 3)
    #expect(parts.map(\.plain.count) == [block, block, 1234])
    #expect(try joined(parts, of: file, format).equals(content))
  }

  @Test("are found in xz files of stock tools, in several streams with padding")
  func stockXZ() throws {
    let content = SampleContent.text.bytes(300_000)
    let one = try Outcome(shell: "xz -c --block-size=100000 --check=sha256", input: content).output
    let two = try Outcome(shell: "xz -c --block-size=70000 --check=crc32", input: content).output
    let file = one + [0, 0, 0, 0] + two
    let parts = try #require(try scan(.xz, file, smallest: 1))
    #expect(parts.count == 3 + 5)
    #expect(try joined(parts, of: file, .xz).equals(content + content))
    // Parts are not joined across the end of a stream.
    #expect(try scan(.xz, file, smallest: 1 << 20)?.count == 2)
  }

  @Test(
    "are found in time in proportion to the size of an xz file, also of very many streams",
    arguments: Campaign.isFull ? [1000, 50_000, 100_000] : [1000, 100_000])
  func manyStreams(count: Int) throws {
    let empty = try Outcome(shell: "xz -c", input: []).output
    let full = try Outcome(shell: "xz -c", input: SampleContent.text.bytes(100)).output
    let file = full + [UInt8](repeating: empty, length: count * empty.count) + full
    var calls = 0
    let found = try PartScanner.parts(of: .xz, size: UInt64(file.count), smallest: 1) {
      (offset, buffer) throws(BatchError) in
      calls += 1
      let piece = file[Int(offset)...].prefix(buffer.count)
      buffer.copyBytes(from: piece)
      return piece.count
    }
    #expect(found?.parts.map(\.plain) == [0..<100, 100..<200])
    #expect(calls <= file.count / 60_000 + 4)
  }

  @Test("are found in zstd frames with skippable frames between them")
  func stockZstd() throws {
    let content = SampleContent.mixed.bytes(400_000)
    let folder = try TreeFixture()
    try folder.file("f", content)
    let frame = try Outcome(shell: "zstd -qc f", in: folder).output
    let noCheck = try Outcome(shell: "zstd -qc --no-check f", in: folder).output
    let skippable: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 1, 2]
    let file = frame + skippable + noCheck
    let parts = try #require(try scan(.zst, file, smallest: 1))
    #expect(parts.map(\.plain.count) == [400_000, 400_000])
    #expect(try joined(parts, of: file, .zst).equals(content + content))
  }

  @Test("are not found when a frame does not state its size, or when there is only one frame")
  func none() throws {
    let content = SampleContent.text.bytes(10_000)
    let unsized = try Outcome(shell: "zstd -qc", input: content).output
    #expect(try scan(.zst, unsized + unsized, smallest: 1) == nil)
    for format in CompressionFormat.writable {
      #expect(try scan(format, format.compressed(content), smallest: 1) == nil)
    }
  }

  @Test(
    "of damaged files are not found, or fail when they are decoded", arguments: [CompressionFormat.zst, .xz])
  func damage(format: CompressionFormat) throws {
    let content = SampleContent.mixed.bytes(60_000)
    let level = format.levels.lowerBound
    let file = try format.compressed(content, level: level) + format.compressed(content, level: level)
    for seed in 0..<UInt64(200) {
      var chance = SeededNumbers(seed: seed)
      var damaged = file
      if seed.isMultiple(of: 4) {
        damaged.removeLast(Int(chance.next() % UInt64(file.count)))
      } else {
        damaged[Int(chance.next() % UInt64(file.count))] ^= 1 << UInt8(chance.next() % 8)
      }
      guard let parts = try scan(format, damaged, smallest: 1) else { continue }
      do {
        #expect(try joined(parts, of: damaged, format).equals(content + content) || !damaged.equals(file))
        #expect(damaged.equals(file))
      } catch is DecodingError {
        continue
      }
    }
  }

  @Test("are refused when their size overflows", arguments: [CompressionFormat.zst])
  func overflow(format: CompressionFormat) throws {
    // A frame of one empty block that claims the largest content.
    let frame: [UInt8] =
      [0x28, 0xB5, 0x2F, 0xFD, 0xE0] + [UInt8](repeating: 0xFF, count: 8) + [0x01, 0, 0]
    #expect(try scan(format, frame + frame, smallest: 1) == nil)
  }

  private func scan(
    _ format: CompressionFormat, _ file: [UInt8], smallest: UInt64 = 1 << 20
  ) throws -> [CompressedPart]? {
    try PartScanner.parts(of: format, size: UInt64(file.count), smallest: smallest) { offset, buffer in
      guard offset < UInt64(file.count) else { return 0 }
      let bytes = file[Int(offset)...].prefix(buffer.count)
      buffer.copyBytes(from: bytes)
      return bytes.count
    }?.parts
  }

  private func joined(
    _ parts: [CompressedPart], of file: [UInt8], _ format: CompressionFormat
  ) throws -> [UInt8] {
    var content: [UInt8] = []
    for part in parts {
      let bytes = Array(file[Int(part.compressed.lowerBound)..<Int(part.compressed.upperBound)])
      #expect(part.plain.lowerBound == UInt64(content.count))
      content += try format.makeDecoder(of: part, by: ReadingRight()).decompressed(bytes, piece: 1000)
    }
    return content
  }
}
