import CLZMA
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The layout of an xz stream")
struct XZLayoutTests {
  // LZMA_IGNORE_CHECK is a macro with a cast, which Swift does not import.
  private static let ignoreCheck: UInt32 = 0x10

  /// Whether liblzma decodes the whole stream when checks are ignored.
  private static func decodesWithoutChecks(_ file: [UInt8]) -> Bool {
    var limit = UInt64.max
    // More than the content. Large memory is slow to get, for each of the many files.
    var output = [UInt8](repeating: 0, count: 8192)
    var inputEnd = 0
    var outputEnd = 0
    let result = lzma_stream_buffer_decode(
      &limit, Self.ignoreCheck, nil, file, &inputEnd, file.count, &output, &outputEnd, output.count)
    return result == LZMA_OK
  }

  @Test(
    "distinguishes wrong checks from data that cannot be decoded, for each flipped bit",
    arguments: [
      "--check=crc64", "--check=crc32", "--check=sha256", "--check=none", "-0 --block-size=500",
      "--x86 --lzma2=preset=1", "--delta=dist=4 --lzma2=lc=0,pb=0",
    ])
  func everyBit(options: String) throws {
    let content = Array(SampleContent.text.bytes(900) + SampleContent.noise.bytes(400))
    let stock = try Outcome(shell: "xz -T1 -c \(options)", input: content)
    try #require(stock.status == 0, "\(String(decoding: stock.errors, as: UTF8.self))")
    let decoder = try CompressionFormat.xz.makeDecoder()
    var found: [CompressionDamage.Kind: Int] = [:]
    for bit in 0..<(stock.output.count * 8) {
      var file = stock.output
      file[bit / 8] ^= 1 << UInt8(bit % 8)
      do {
        _ = try decoder.decompressed(file, piece: 61)
        // Without a check the content may be changed.
        #expect(options.contains("none"), "\(bit)")
      } catch DecodingError.damaged(let damage) {
        found[damage.kind, default: 0] += 1
        #expect((damage.kind == .checksum) == Self.decodesWithoutChecks(file), "\(bit): \(damage)")
      } catch DecodingError.failed {
        found[.tooLarge, default: 0] += 1
      }
    }
    #expect((found[.checksum, default: 0] > 30) == !options.contains("none"), "\(found)")
    #expect(found[.corrupt, default: 0] > 100, "\(found)")
  }

  @Test("is the same when it is read in pieces of any size", arguments: [1, 2, 3, 7, 1000])
  func pieces(size: Int) throws {
    var file = try CompressionFormat.xz.compressed(SampleContent.mixed.bytes(150_000))
    // The footer of 12 bytes contains the length of the index before it.
    let place = file.count - 12 - (Int(file[file.count - 8]) + 1) * 4 - 1
    file[place] ^= 1
    #expect(try CompressionFormat.xz.damage(of: file, piece: size)?.kind == .checksum)
    var layout = XZLayout()
    var ends: [Int] = []
    for (index, byte) in file.enumerated() {
      withUnsafeBytes(of: byte) { layout.pass($0) }
      if layout.isBehindCheck { ends.append(index) }
    }
    #expect(ends == [place])
  }
}
