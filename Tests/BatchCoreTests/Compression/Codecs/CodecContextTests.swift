import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("A codec context")
struct CodecContextTests {
  static let sizes = [0, 1, 2, 15, 16, 17, 255, 256, 257, 4095, 4096, 4097, 65_535, 65_536, 65_537, 300_000]

  @Test(
    "gives back a content of any size", arguments: CompressionFormat.writable, SampleContent.allCases)
  func roundTrip(format: CompressionFormat, content: SampleContent) throws {
    let context = try format.makeContext()
    let decoder = try format.makeDecoder()
    for size in Self.sizes {
      let bytes = content.bytes(size)
      var output: [UInt8] = []
      try context.compress(wholeFile: bytes, into: &output)
      #expect(try decoder.decompressed(output).equals(bytes))
      #expect(try decoder.decompressed(output, piece: 1000).equals(bytes))
      #expect(decoder.frameCount == 1)
      #expect(decoder.plainCount == UInt64(size))
      #expect(decoder.compressedCount == UInt64(output.count))
    }
  }

  @Test("gives back a content at each level", arguments: CompressionFormat.writable)
  func levels(format: CompressionFormat) throws {
    let bytes = SampleContent.mixed.bytes(100_000)
    for level in format.levels {
      let output = try format.compressed(bytes, level: level)
      #expect(try format.decompressed(output).equals(bytes), "level \(level)")
    }
  }

  @Test("writes what the stock tool reads", arguments: CompressionFormat.writable, [0, 1, 70_000, 2_500_000])
  func stockReads(format: CompressionFormat, size: Int) throws {
    let bytes = SampleContent.mixed.bytes(size)
    let output = try format.compressed(bytes)
    let stock = try Outcome(shell: "\(format.toolName) -dc", input: output)
    #expect(stock.status == 0, "\(String(decoding: stock.errors, as: UTF8.self))")
    #expect(stock.output.equals(bytes))
  }

  @Test("writes what Python's modules read", arguments: [("gzip", CompressionFormat.gz), ("lzma", .xz)])
  func pythonReads(module: String, format: CompressionFormat) throws {
    let bytes = SampleContent.mixed.bytes(200_000)
    let script = "python3 -c 'import \(module), sys; s = sys.stdin.buffer; "
    let python = try Outcome(
      shell: script + "sys.stdout.buffer.write(\(module).decompress(s.read()))'",
      input: format.compressed(bytes))
    #expect(python.output.equals(bytes))
  }

  @Test("appends its output, which does not depend on earlier calls", arguments: CompressionFormat.writable)
  func independence(format: CompressionFormat) throws {
    let bytes = SampleContent.text.bytes(50_000)
    let fresh = try format.compressed(bytes)
    let context = try format.makeContext()
    var output: [UInt8] = []
    try context.compress(wholeFile: SampleContent.mixed.bytes(300_000), into: &output)
    output = [7, 7]
    try context.compress(wholeFile: bytes, into: &output)
    #expect(output == [7, 7] + fresh)
  }

  @Test("writes at most 1 % more than the stock tool", arguments: CompressionFormat.writable)
  func size(format: CompressionFormat) throws {
    let bytes = SampleContent.mixed.bytes(500_000)
    // gzip has no level that only stores.
    let levels = [format == .gz ? 1 : format.levels.lowerBound, format.defaultLevel, 9]
    for level in levels where format.levels.contains(level) {
      let stock = try Outcome(shell: "\(format.toolName) -c -\(level)", input: bytes)
      let output = try format.compressed(bytes, level: level)
      #expect(output.count <= stock.output.count * 101 / 100, "level \(level)")
    }
  }

  @Test(
    "asks for cancellation several times during a long block, and can be used after it was stopped",
    arguments: [(CompressionFormat.xz, 0), (.xz, 6), (.zst, 6)])
  func interruption(format: CompressionFormat, level: Int) throws {
    // Three slices of 256 KiB at most.
    let (mixed, zeros) = (SampleContent.mixed.bytes(80_000), SampleContent.zeros.bytes(180_000))
    let bytes = mixed + zeros + mixed + zeros + mixed
    let fresh = try format.compressed(bytes, level: level)
    var asked = 0
    var limit = Int.max
    let stopped = BatchError(.cancelled, "stopped")
    let context = try format.makeContext(level: level) { () throws(BatchError) in
      asked += 1
      if asked > limit { throw stopped }
    }
    var output: [UInt8] = []
    try context.compress(wholeFile: bytes, into: &output)
    #expect(output.equals(fresh) && asked == 3)
    for place in 0..<3 {
      (asked, limit) = (0, place)
      #expect(throws: stopped) { try context.compress(block: bytes, index: 0) }
      limit = .max
      output = []
      try context.compress(wholeFile: bytes, into: &output)
      #expect(output.equals(fresh), "\(place)")
    }
  }

  @Test("stores the sizes of xz blocks in their headers, so that stock tools decode them in parallel")
  func xzSizes() throws {
    let folder = try TreeFixture()
    let bytes = SampleContent.mixed.bytes(300_000) + SampleContent.zeros.bytes(4_700_000)
    try folder.file("whole.xz", CompressionFormat.xz.compressed(bytes, level: 0))
    try folder.file("blocks.xz", CompressionFormat.xz.compressedInBlocks(bytes, level: 0))
    let list = try Outcome(
      shell: "xz --robot -lvv whole.xz blocks.xz | grep '^block' | cut -f 13", in: folder)
    #expect(list.text == "cu\ncu\ncu\n", "\(list.text)")
  }

  @Test("stores neither time nor name in a gzip member")
  func gzipHeader() throws {
    let output = try CompressionFormat.gz.compressed([1, 2, 3])
    #expect(Array(output.prefix(10)) == [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 255])
  }
}
