import BatchEngine
import CLZ4
import CXXHash
import func Glibc.free
import func Glibc.malloc

/// lz4 frames of independent blocks.
final class LZ4Context: CodecContext {
  private let level: Int
  private let state: UnsafeMutableRawPointer

  init(level: Int) throws(BatchError) {
    self.level = level
    let isHigh = level >= LZ4HC_CLEVEL_MIN
    // malloc provides the alignment that both states need.
    guard let state = malloc(Int(isHigh ? LZ4_sizeofStateHC() : LZ4_sizeofState())) else {
      throw .noCodecMemory
    }
    self.state = state
  }

  deinit {
    free(state)
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    let frame = LZ4FrameHeader(contentSize: UInt64(wholeFile.count), check: .content)
    output += frame.bytes
    var start = 0
    while start < wholeFile.count {
      let end = min(wholeFile.count, start + LZ4FrameHeader.largestBlock)
      try append(UnsafeRawBufferPointer(rebasing: wholeFile[start..<end]), hasCheck: false, to: &output)
      start = end
    }
    output.appendLittleEndian(LZ4FrameHeader.endMark)
    output.appendLittleEndian(XXH32(wholeFile.baseAddress, wholeFile.count, 0))
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    var bytes: [UInt8] = []
    // A block of length 0 would end the frame.
    if !block.isEmpty { try append(block, hasCheck: true, to: &bytes) }
    return CompressedBlock(index: index, bytes: bytes, plainCount: block.count)
  }

  /// Appends length, data and checksum of one block of at most 4 MiB.
  private func append(
    _ block: UnsafeRawBufferPointer, hasCheck: Bool, to output: inout [UInt8]
  ) throws(BatchError) {
    let lengthSize = 4
    try output.append(upTo: lengthSize + block.count + lengthSize) { room throws(BatchError) in
      let data = room + lengthSize
      // A capacity of one byte less than the content: a block that does not become smaller is stored.
      var count = Int(compress(block, into: data, capacity: Int32(block.count - 1)))
      var length = UInt32(count)
      if count == 0 {
        UnsafeMutableRawBufferPointer(start: data, count: block.count).copyMemory(from: block)
        count = block.count
        length = UInt32(count) | LZ4FrameHeader.isStored
      }
      UnsafeMutableRawPointer(room).storeBytes(of: length.littleEndian, as: UInt32.self)
      guard hasCheck else { return lengthSize + count }
      let check = XXH32(data, count, 0)
      UnsafeMutableRawPointer(data + count).storeBytes(of: check.littleEndian, as: UInt32.self)
      return lengthSize + count + lengthSize
    }
  }

  /// - Returns: 0 when the result does not fit.
  private func compress(
    _ block: UnsafeRawBufferPointer, into room: UnsafeMutablePointer<UInt8>, capacity: Int32
  ) -> Int32 {
    let source = block.baseAddress?.assumingMemoryBound(to: CChar.self)
    return room.withMemoryRebound(to: CChar.self, capacity: Int(capacity)) { room in
      level >= LZ4HC_CLEVEL_MIN
        ? LZ4_compress_HC_extStateHC(state, source, room, Int32(block.count), capacity, Int32(level))
        : LZ4_compress_fast_extState(state, source, room, Int32(block.count), capacity, 1)
    }
  }
}
