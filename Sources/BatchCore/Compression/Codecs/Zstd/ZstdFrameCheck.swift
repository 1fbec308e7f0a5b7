/// Finds two faults of a frame that libzstd accepts when the frame comes in pieces, and refuses when it comes as a whole: content of another
/// size than the header stores, when the last block is empty, and a compressed block without bytes, which has no literals section
/// (RFC 8878 section 3.1.1.3).
struct ZstdFrameCheck {
  private var start: [UInt8] = []
  private var header: ZstdFrameHeader?
  private var isSkippable = false
  /// Bytes before the header of the next block, or before the checksum.
  private var bytesToSkip = 0
  /// The bytes of a block's header that were passed.
  private var block: UInt32 = 0
  private var blockLength = 0
  private var isLast = false
  private var plainCount: UInt64 = 0

  /// - Parameter produced: how many bytes of content came out.
  /// - Returns: whether the blocks so far are right.
  mutating func pass(_ bytes: UnsafeRawBufferPointer, produced: Int) -> Bool {
    plainCount &+= UInt64(produced)
    var rest = bytes[...]
    while !rest.isEmpty, !isSkippable {
      if header == nil {
        takeHeader(&rest)
      } else if bytesToSkip > 0 {
        let count = min(bytesToSkip, rest.count)
        rest.removeFirst(count)
        bytesToSkip -= count
      } else if isLast {
        return true
      } else if let byte = rest.popFirst(), !takeBlock(byte) {
        return false
      }
    }
    return true
  }

  /// Whether the content at the end of the frame is as long as the header says.
  var hasContentSize: Bool { header?.contentSize.map { $0 == plainCount } ?? true }

  private mutating func takeHeader(_ rest: inout Slice<UnsafeRawBufferPointer>) {
    let wanted =
      start.count < ZstdFrameHeader.shortest ? ZstdFrameHeader.shortest : ZstdFrameHeader.length(start[4])
    let taken = rest.prefix(wanted - start.count)
    start += taken
    rest.removeFirst(taken.count)
    guard start.count >= 4 else { return }
    isSkippable = CompressionFormat.canSkip(Array(start.prefix(4)))
    header = ZstdFrameHeader(start)
  }

  /// - Returns: false for a compressed block without bytes.
  private mutating func takeBlock(_ byte: UInt8) -> Bool {
    block |= UInt32(byte) << UInt32(8 * blockLength)
    blockLength += 1
    guard blockLength == 3 else { return true }
    let size = Int(block >> 3)
    let kind = block >> 1 & 3
    isLast = block & 1 == 1
    // A block of one repeated byte has that byte alone.
    bytesToSkip = kind == 1 ? 1 : size
    (block, blockLength) = (0, 0)
    return kind != 2 || size > 0
  }
}
