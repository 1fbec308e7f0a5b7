import BatchEngine

/// What lies behind the blocks that end a tar: zeros that fill its last record, our index, or more.
struct TrailingBytes {
  private var count: UInt64 = 0
  private var hasContent = false
  private var first: [UInt8] = []
  private var last: [UInt8] = []

  mutating func add(_ piece: UnsafeRawBufferPointer) {
    count += UInt64(piece.count)
    if !hasContent { hasContent = piece.contains { $0 != 0 } }
    if first.count < 4 { first += piece.prefix(4 - first.count) }
    if piece.count >= TailBlock.size {
      last = Array(piece.suffix(TailBlock.size))
    } else {
      last = Array((last + piece).suffix(TailBlock.size))
    }
  }

  /// Whether it is more, whatever follows.
  var isSurelyMore: Bool { hasContent && first.count == 4 && !beginsAsIndex }

  /// Whether it is more than zeros and an index that fills it.
  var isMore: Bool {
    guard hasContent else { return false }
    return !beginsAsIndex || TailBlock(last)?.tailLength != count
  }

  private var beginsAsIndex: Bool {
    var reader = LittleEndianReader(first[...])
    return reader.number(UInt32.self) == ZstdCodec.magic
  }
}
