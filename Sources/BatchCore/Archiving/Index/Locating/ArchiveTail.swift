import BatchEngine

/// The tail after the end-of-archive blocks: the member index, in a form that stock tools skip.
///
/// | archive | form of the tail |
/// |---|---|
/// | zst | skippable frames with the index, one for the origin of a compacted archive, the seek table of zstd's seekable format |
/// | lz4 | skippable frames with the index, then one with the offset of the first |
/// | gz | empty members whose extra field holds the index in slices, then one with the offset of the first |
/// | xz, bz2, and no compression | bytes after the end of the archive, where reading stops; in separate streams for xz and bz2 |
struct ArchiveTail {
  static let indexMagic: UInt32 = 0x184D_2A5A
  static let originMagic: UInt32 = 0x184D_2A5C
  static let locatorMagic: UInt32 = 0x184D_2A5B
  static let locatorText = Array("BPTAIL01".utf8)
  /// The beginning of the skippable frames of an index: a mark, a version, and flags.
  static let indexHead = Array("BPIX".utf8) + [4, 0]
  static let indexHeadOfVersion3 = Array("BPIX".utf8) + [3, 0]
  /// Readers store the size of a frame in 32 bits, some in 31, and so does libbz2 for its input.
  static let largestPart = 1 << 30
  /// A round number below the capacity of a gzip extra field.
  static let largestGzipSlice = 60_000
  /// The size of the last member of a gzip archive, in bytes.
  static let gzipLocatorSize = 64

  let format: ArchiveFormat
  let index: IndexExtent
  /// Where the tail begins in the archive.
  let offset: UInt64
  /// All frames before it.
  let frames: [MemberIndex.Frame]
  /// The most bytes of an index in one part, if the format allows several parts.
  var partSize = Self.largestPart
  /// The archive from which a compacted one was made; only for zstd.
  var origin: StoredArchive?
  /// Bytes of the index that are passed at once.
  private static let pieceSize = 1 << 20

  private var indexSize: Int { Int(clamping: index.count) }

  /// Passes the bytes of the tail piece by piece.
  ///
  /// - Parameter codec: nil if nothing is compressed.
  func write(
    _ codec: (any CodecContext)?, to output: ([UInt8]) throws(BatchError) -> Void
  ) throws(BatchError) {
    switch format.compression?.codec.index {
    case .seekTable: try writeZstd(output)
    case .skippableFrames:
      for frame in skippableFrames { try write(frame, output) }
      try output(Self.skippable(Self.locatorMagic, Self.littleEndian(offset) + Self.locatorText))
    case .extraFields:
      try forEachPiece(of: 0..<indexSize, upTo: Self.largestGzipSlice) { (slice) throws(BatchError) in
        try output(Self.gzipSlice(slice))
      }
      try output(Self.gzipLocator(offset))
    case .streams:
      // A stream does not store its own offset: the last, short stream stores that of the previous one.
      var bytes = try index.bytes(0..<index.count)
      TarBlock.pad(&bytes, from: 0)
      for start in stride(from: 0, to: bytes.count, by: partSize) {
        try write(Array(bytes[start..<min(bytes.count, start + partSize)]), codec, output)
      }
      var locator = Self.locatorText + Self.littleEndian(index.count) + Self.littleEndian(offset)
      TarBlock.pad(&locator, from: 0)
      try write(locator, codec, output)
    case .lastStream:
      try write(index.bytes(0..<index.count) + endOfPlain, codec, output)
    case nil:
      try forEachPiece(of: 0..<indexSize, output)
      try output(endOfPlain)
    }
  }

  /// The padding of a plain index to a whole block, and the block that locates the index.
  private var endOfPlain: [UInt8] {
    let size = TarBlock.size
    let padding = [UInt8](repeating: 0, count: (size - indexSize % size) % size)
    return padding + TailBlock(indexLength: index.count).bytes
  }

  /// Passes bytes as a separate stream.
  private func write(
    _ bytes: [UInt8], _ codec: (any CodecContext)?, _ output: ([UInt8]) throws(BatchError) -> Void
  ) throws(BatchError) {
    guard let codec else { return try output(bytes) }
    var stream: [UInt8] = []
    try withBytes(of: bytes) { (raw) throws(BatchError) in try codec.compress(wholeFile: raw, into: &stream) }
    try output(stream)
  }

  // MARK: zstd and lz4

  /// A part of the index in a separate frame; an index may be too large to be copied.
  private struct SkippableFrame {
    let head: [UInt8]
    let content: Range<Int>

    var count: Int { head.count + content.count }
  }

  private var skippableFrames: [SkippableFrame] {
    stride(from: 0, to: max(1, indexSize), by: partSize).map { start in
      let content = start..<min(indexSize, start + partSize)
      let head = Self.skippableHead(Self.indexMagic, count: Self.indexHead.count + content.count)
      return SkippableFrame(head: head + Self.indexHead, content: content)
    }
  }

  private func write(
    _ frame: SkippableFrame, _ output: ([UInt8]) throws(BatchError) -> Void
  ) throws(BatchError) {
    try output(frame.head)
    try forEachPiece(of: frame.content, output)
  }

  /// Passes a range of the index, which is not contiguous in memory.
  private func forEachPiece(
    of range: Range<Int>, upTo size: Int = Self.pieceSize, _ body: ([UInt8]) throws(BatchError) -> Void
  ) throws(BatchError) {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: size) {
      try body(try index.bytes(UInt64(start)..<UInt64(min(range.upperBound, start + size))))
    }
  }

  private func writeZstd(_ output: ([UInt8]) throws(BatchError) -> Void) throws(BatchError) {
    var table = frames.map { frame in
      ZstdSeekTable.Frame(
        compressed: UInt32(clamping: frame.compressedSize), plain: UInt32(clamping: frame.plainSize))
    }
    for frame in skippableFrames {
      try write(frame, output)
      table.append(ZstdSeekTable.Frame(compressed: UInt32(clamping: frame.count), plain: 0))
    }
    if let frame = try originFrame() {
      try output(frame)
      table.append(ZstdSeekTable.Frame(compressed: UInt32(clamping: frame.count), plain: 0))
    }
    try output(ZstdSeekTable.bytes(of: table))
  }

  private func originFrame() throws(BatchError) -> [UInt8]? {
    guard let origin else { return nil }
    let size = UInt64(DigestAlgorithm.sha256.byteCount)
    guard index.count >= size,
      let digest = Digest(.sha256, bytes: try index.bytes((index.count - size)..<index.count))
    else { throw StoredIndex.damaged }
    return Self.skippable(Self.originMagic, try OriginRecord.bytes(origin, index: digest))
  }

  private static func skippable(_ magic: UInt32, _ payload: [UInt8]) -> [UInt8] {
    skippableHead(magic, count: payload.count) + payload
  }

  private static func skippableHead(_ magic: UInt32, count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(magic)
    bytes.appendLittleEndian(UInt32(clamping: count))
    return bytes
  }

  private static func littleEndian(_ number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(number)
    return bytes
  }

  // MARK: gzip

  /// A gzip member that contains a part of the index.
  static func gzipSlice(_ part: some Collection<UInt8>) -> [UInt8] {
    emptyMember(subfield("BP", part))
  }

  /// The last gzip member, which has a fixed length so that it can be found from the end of the file.
  static func gzipLocator(_ offset: UInt64) -> [UInt8] {
    let filler = gzipLocatorSize - emptyMember(subfield("BT", [])).count
    let text = littleEndian(offset) + locatorText
    return emptyMember(subfield("BT", text + [UInt8](repeating: 0, count: filler - text.count)))
  }

  private static func subfield(_ name: StaticString, _ content: some Collection<UInt8>) -> [UInt8] {
    var bytes = name.withUTF8Buffer { Array($0) }
    bytes.appendLittleEndian(UInt16(clamping: content.count))
    return bytes + content
  }

  /// A gzip member without content but with an extra field, RFC 1952.
  private static func emptyMember(_ extra: [UInt8]) -> [UInt8] {
    // FEXTRA; no time; an unknown system.
    var bytes: [UInt8] = [0x1F, 0x8B, 0x08, 0x04, 0, 0, 0, 0, 0, 255]
    bytes.appendLittleEndian(UInt16(clamping: extra.count))
    bytes += extra
    // A last, empty block of fixed codes; then the CRC and the length of no content.
    return bytes + [0x03, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]
  }
}
