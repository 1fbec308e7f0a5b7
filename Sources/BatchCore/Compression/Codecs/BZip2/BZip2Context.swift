import BatchEngine
import CBZip2

/// bzip2 streams, each with the CRC of its blocks and of all of them.
final class BZip2Context: CodecContext {
  let level: Int

  init(level: Int) {
    self.level = level
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    guard let count = UInt32(exactly: wholeFile.count) else { throw .noCodecMemory }
    // What the library's manual promises to be enough.
    let capacity = wholeFile.count + wholeFile.count / 100 + 600
    try output.append(upTo: capacity) { room throws(BatchError) in
      var size = UInt32(clamping: capacity)
      // It asks for bytes that it may change, and changes none; a null pointer it takes for a mistake.
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

  func compress(block bytes: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    var output: [UInt8] = []
    try compress(wholeFile: bytes, into: &output)
    return CompressedBlock(index: index, bytes: output, plainCount: bytes.count)
  }
}
