import BatchEngine

/// Frames blocks as one lz4 frame, with a checksum for each block.
struct LZ4Framing: BlockFraming {
  let contentSize: UInt64?

  func header() -> [UInt8] {
    LZ4FrameHeader(contentSize: contentSize, check: .blocks).bytes
  }

  func append(_ block: CompressedBlock) {}

  func trailer(plainCount: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(LZ4FrameHeader.endMark)
    return bytes
  }
}
