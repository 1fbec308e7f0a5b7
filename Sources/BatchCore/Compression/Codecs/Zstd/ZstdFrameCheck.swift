/// Finds faults of a frame that libzstd finds only if it gets the whole frame at once:
///
/// - The content has another size than the header says, and the last block is empty.
/// - A compressed block has no bytes, and so no literals section (RFC 8878 section 3.1.1.3).
///
/// And one that it finds only if it gets the frame in pieces: a block is larger than the window.
struct ZstdFrameCheck {
  private var start: [UInt8] = []
  private(set) var header: ZstdFrameHeader?
  private var isSkippable = false
  /// Bytes before the header of the next block, or before the checksum.
  private var bytesToSkip = 0
  /// The bytes of a block's header so far.
  private var block: UInt32 = 0
  private var blockLength = 0
  private var isLast = false
  private var plainCount: UInt64 = 0

  /// Takes the next bytes of the frame.
  ///
  /// - Parameter produced: how many bytes of content were decoded from them.
  /// - Returns: false when a block is not valid.
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

  /// - Returns: false for a compressed block without bytes, and for a block that is larger than the window.
  private mutating func takeBlock(_ byte: UInt8) -> Bool {
    block |= UInt32(byte) << UInt32(8 * blockLength)
    blockLength += 1
    guard blockLength == 3 else { return true }
    let size = Int(block >> 3)
    let kind = block >> 1 & 3
    isLast = block & 1 == 1
    // A block of one repeated byte stores that byte once.
    bytesToSkip = kind == 1 ? 1 : size
    (block, blockLength) = (0, 0)
    let largest = header?.largestBlock ?? 0
    return (kind != 2 || size > 0) && max(bytesToSkip, size) <= largest
  }
}
