import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Blocks joined to one file")
struct BlockJoinerTests {
  @Test("give back a content of any size near the edges of blocks", arguments: CompressionFormat.writable)
  func edges(format: CompressionFormat) throws {
    // The lowest levels have the smallest blocks.
    let level = format.levels.lowerBound
    let block = try BlockPlan(format, level: level, fileSize: nil).blockSize
    // Most of each block is zeros, which take compressors little time.
    let mixed = SampleContent.mixed.bytes(300_000)
    let zeros = [UInt8](repeating: 0, count: block - 450_000)
    let all = mixed + zeros + mixed + zeros + mixed
    let context = try format.makeContext(level: level)
    for size in [0, 1, block, block + 1, 2 * block] {
      let bytes = Array(all[..<size])
      let output = try format.compressedInBlocks(bytes, level: level, context: context)
      #expect(try format.decompressed(output, piece: 1 << 20).equals(bytes), "\(size)")
      let stock = try format.stockTest(output)
      #expect(stock.status == 0, "\(size): \(String(decoding: stock.errors, as: UTF8.self))")
    }
  }

  @Test(
    "give back text, noise and zeros from streams of unknown size", arguments: CompressionFormat.writable,
    [SampleContent.text, .noise, .zeros])
  func contents(format: CompressionFormat, content: SampleContent) throws {
    let level = format == .xz ? 0 : format.defaultLevel
    let block = try BlockPlan(format, level: level, fileSize: nil).blockSize
    let bytes = content.bytes(block + 50_000)
    let output = try format.compressedInBlocks(bytes, level: level, isSizeKnown: false)
    let stock = try Outcome(shell: "\(format.toolName) -dc", input: output)
    #expect(stock.status == 0)
    #expect(stock.output.equals(bytes))
    #expect(try format.decompressed(output, piece: 1 << 20).equals(bytes))
  }

  @Test("are one gzip member that gunzip, zcat and Python read", arguments: [0, 1, 6, 9, 12])
  func oneMember(level: Int) throws {
    let bytes = SampleContent.mixed.bytes(2_500_000)
    let output = try CompressionFormat.gz.compressedInBlocks(bytes, level: level)
    #expect(try Outcome(shell: "zcat", input: output).output.equals(bytes))
    let decoder = try CompressionFormat.gz.makeDecoder()
    #expect(try decoder.decompressed(output, piece: 4096).equals(bytes))
    #expect(decoder.frameCount == 1)
    let script = """
      python3 -c 'import sys, zlib
      d = zlib.decompressobj(31); sys.stdout.buffer.write(d.decompress(sys.stdin.buffer.read()))
      assert d.eof and not d.unused_data'
      """
    let python = try Outcome(shell: script, input: output)
    #expect(python.status == 0)
    #expect(python.output.equals(bytes))
  }

  @Test("are one xz stream of several blocks, and several zstd frames with size and check")
  func listing() throws {
    let bytes = SampleContent.text.bytes(1 << 20) + SampleContent.zeros.bytes(16 << 20)
    let folder = try TreeFixture()
    try folder.file("f.xz", CompressionFormat.xz.compressedInBlocks(bytes, level: 0))
    let xz = try Outcome(shell: "xz --robot --list f.xz | awk '/^file/ { print $2, $3, $7 }'", in: folder)
    #expect(xz.text == "1 5 CRC64\n")
    try folder.file("f.zst", CompressionFormat.zst.compressedInBlocks(bytes))
    let zstd = try Outcome(shell: "zstd -lv f.zst", in: folder)
    #expect(zstd.text.contains("Frames: 3"))
    #expect(zstd.text.contains("Decompressed Size: 17.0 MiB (17825792 B)"))
    #expect(zstd.text.contains("Check: XXH64"))
  }

  @Test("are the same bytes from new and from used contexts", arguments: CompressionFormat.writable)
  func determinism(format: CompressionFormat) throws {
    let level = format == .xz ? 0 : format.defaultLevel
    let block = try BlockPlan(format, level: level, fileSize: nil).blockSize
    let zeros = [UInt8](repeating: 0, count: block - 400_000)
    let bytes = SampleContent.mixed.bytes(300_000) + zeros + SampleContent.mixed.bytes(200_000)
    let used = try format.makeContext(level: level)
    _ = try used.compress(block: SampleContent.text.bytes(70_000), index: 5)
    #expect(
      try format.compressedInBlocks(bytes, level: level, context: used)
        .equals(format.compressedInBlocks(bytes, level: level)))
  }

  @Test(
    "are at most 1 % larger than the file of the stock tool",
    arguments: [
      (CompressionFormat.gz, 6), (.gz, 1), (.gz, 9), (.zst, 3), (.xz, 0), (.lz4, 1),
    ])
  func size(format: CompressionFormat, level: Int) throws {
    let block = try BlockPlan(format, level: level, fileSize: nil).blockSize
    let bytes = SampleContent.mixed.bytes(block + block / 2)
    let stock = try Outcome(shell: "\(format.toolName) -c -\(level)", input: bytes)
    let output = try format.compressedInBlocks(bytes, level: level)
    #expect(output.count <= stock.output.count * 101 / 100)
  }

  @Test("are refused when they are out of order")
  func order() throws {
    let plan = try BlockPlan(.gz, fileSize: 3_000_000)
    let joiner = try BlockJoiner(plan)
    let context = try CompressionFormat.gz.makeContext()
    let block = [UInt8](repeating: 1, count: plan.blockSize)
    expectError(.invalid) { try joiner.append(context.compress(block: block, index: 1)) }
    try joiner.append(context.compress(block: block, index: 0))
    try joiner.append(context.compress(block: [1], index: 1))
    expectError(.invalid) { try joiner.append(context.compress(block: block, index: 2)) }
  }

  @Test("are refused when the file grew or shrank", arguments: CompressionFormat.writable)
  func changed(format: CompressionFormat) throws {
    let joiner = try BlockJoiner(BlockPlan(format, fileSize: 10))
    try joiner.append(format.makeContext().compress(block: [1, 2, 3], index: 0))
    expectError(.changed) { try joiner.finish() }
  }

  @Test("cover a file of any size")
  func ranges() throws {
    let plan = try BlockPlan(.gz, fileSize: 2_500_000)
    #expect(plan.blockCount == 3)
    #expect(plan.range(ofBlock: 0) == 0..<1_048_576)
    #expect(plan.range(ofBlock: 2) == 2_097_152..<2_500_000)
    #expect(plan.range(ofBlock: 3) == nil)
    #expect(try BlockPlan(.gz, fileSize: 0).blockCount == 0)
    #expect(try BlockPlan(.gz, fileSize: nil).blockCount == nil)
    let largest = try BlockPlan(.gz, fileSize: .max)
    #expect(largest.range(ofBlock: (1 << 44) - 1)?.upperBound == .max)
  }
}
