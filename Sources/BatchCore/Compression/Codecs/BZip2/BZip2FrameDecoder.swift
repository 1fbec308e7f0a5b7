import BatchEngine
import CBZip2

/// bzip2 streams. The library compares the CRC of each block and of each stream, and returns the same error for a wrong CRC and
/// for data that cannot be decoded.
final class BZip2FrameDecoder: FrameDecoder {
  let startLength = 4
  let padding = FramePadding.none
  private var stream = bz_stream()
  private var isOpen = false

  deinit { close() }

  func canStart(with bytes: [UInt8]) -> Bool {
    guard BZip2Codec.magic.starts(with: bytes.prefix(3)) else { return false }
    return bytes.count < 4 || BZip2Codec.isLevel(bytes[3])
  }

  func begin() throws(FrameFailure) {
    close()
    stream = bz_stream()
    guard BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK else { throw .failed(.noCodecMemory) }
    isOpen = true
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    let given = UInt32(clamping: input.count)
    let room = UInt32(clamping: output.count)
    stream.next_in = UnsafeMutableRawPointer(mutating: input.baseAddress)?.assumingMemoryBound(to: CChar.self)
    stream.avail_in = given
    stream.next_out = output.baseAddress?.assumingMemoryBound(to: CChar.self)
    stream.avail_out = room
    let result = BZ2_bzDecompress(&stream)
    let produced = Int(room - stream.avail_out)
    switch result {
    case BZ_OK, BZ_STREAM_END: break
    case BZ_MEM_ERROR: throw .failed(.noCodecMemory)
    // Content of the blocks before a damaged one is passed on, however much input was given at once.
    default: throw .corruptAfter(produced)
    }
    return FrameStep(
      consumed: Int(given - stream.avail_in), produced: produced,
      isEnd: result == BZ_STREAM_END)
  }

  private func close() {
    if isOpen { BZ2_bzDecompressEnd(&stream) }
    isOpen = false
  }
}
