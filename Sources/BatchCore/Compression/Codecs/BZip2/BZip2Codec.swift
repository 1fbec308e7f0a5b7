import BatchEngine
import CBZip2

/// bzip2 streams.
enum BZip2Codec: CodecDescriptor {
  static let toolName = "bzip2"
  static let tarSuffixes = ["tbz2", "tbz"]
  static var libraries: [(name: String, version: String)] {
    [("libbz2", BZ2_bzlibVersion().map { String(String(cString: $0).prefix { $0 != "," }) } ?? "unknown")]
  }

  static let magic = Array("BZh".utf8)
  /// The bytes after the magic number and the level: of a block, or of the end of an empty stream.
  static let blockMagics: [[UInt8]] = [
    [0x31, 0x41, 0x59, 0x26, 0x53, 0x59], [0x17, 0x72, 0x45, 0x38, 0x50, 0x90],
  ]
  static func isLevel(_ byte: UInt8) -> Bool { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) }

  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
    guard start.count >= 4, start.starts(with: magic), isLevel(start[3]) else { return false }
    let block = start.dropFirst(4).prefix(6)
    return blockMagics.contains { $0.starts(with: block) }
  }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder { BZip2FrameDecoder() }
  static let garbage = TrailingGarbage.remark
  static func checksFact(start: UnsafeRawBufferPointer) -> String {
    "compared the CRC-32 of each block of bzip2"
  }

  static let use = CodecUse.archives
  static let levels = 1...9
  static let defaultLevel = 9
  /// Nine bzip2 blocks and a part of one.
  static func blockSize(level: Int) -> Int { 8 << 20 }
  static func makeContext(
    level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) -> any CodecContext { BZip2Context(level: level) }

  static let index: IndexForm? = .streams
  /// The end mark and a CRC, which need not begin at a byte boundary.
  static func trailerSize(of frame: UnsafeRawBufferPointer) -> Int { 10 }
}

/// bzip2 streams, each with the CRC of its blocks and of all of them.
final class BZip2Context: CodecContext {
  private let level: Int

  init(level: Int) {
    self.level = level
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    guard let count = UInt32(exactly: wholeFile.count) else { throw .noCodecMemory }
    // The size that the library's manual guarantees to be enough.
    let capacity = wholeFile.count + wholeFile.count / 100 + 600
    try output.append(upTo: capacity) { room throws(BatchError) in
      var size = UInt32(clamping: capacity)
      // The function requires a mutable pointer but changes nothing; it rejects a null pointer.
      var nothing: CChar = 0
      let result = withUnsafeMutablePointer(to: &nothing) { spare in
        let source = UnsafeMutableRawPointer(mutating: wholeFile.baseAddress)?.assumingMemoryBound(
          to: CChar.self)
        return room.withMemoryRebound(to: CChar.self, capacity: capacity) {
          BZ2_bzBuffToBuffCompress($0, &size, source ?? spare, count, Int32(level), 0, 0)
        }
      }
      guard result == BZ_OK else { throw .noCodecMemory }
      return Int(size)
    }
  }
}
