import BatchEngine

/// The bytes after the end blocks of a tar: zeros that fill its last record, our index, or other data.
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

  /// Whether there is other data, regardless of the bytes that follow.
  var isSurelyMore: Bool { hasContent && isSurelyNoIndex }

  /// Whether these are not the bytes of an index, regardless of the bytes that follow.
  var isSurelyNoIndex: Bool { first.count == 4 && !beginsAsIndex }

  /// Whether there is anything except zeros and an index.
  var isMore: Bool {
    guard hasContent else { return false }
    return !beginsAsIndex || TailBlock(last)?.tailLength != count
  }

  private var beginsAsIndex: Bool {
    var reader = LittleEndianReader(first[...])
    return reader.number(UInt32.self) == ZstdCodec.magic
  }
}
