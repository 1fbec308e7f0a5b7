import BatchEngine
import CBZip2

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
