import BatchEngine
import CLZMA

/// Finds the index of a `.tar.xz`: a last stream that contains only the index.
struct XZIndexLocator: IndexLocator {
  private static let headerSize: UInt64 = 12
  /// The largest list of blocks of a stream with one block.
  private static let largestList: UInt64 = 64
  /// Enough compressed bytes for the first bytes of content.
  private static let startSize: UInt64 = 4096
  /// How many of four bytes must match; a member name contains none of them.
  private static let fewestEqual = 3

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64
  let right: ReadingRight

  func locate() throws(BatchError) -> IndexPlace? {
    guard let stream = try lastStream(), try holdsIndex(at: stream.start) else { return nil }
    let length = size - stream.start
    let (needed, isHuge) = length.addingReportingOverflow(stream.plainSize)
    guard !isHuge, needed <= memory else { throw StoredIndex.tooLarge }
    guard
      let content = try IndexedArchive.decode(
        try file.bytes(at: stream.start, count: Int(length)), of: .xz, limit: stream.plainSize, file.decoding,
        by: right),
      let block = TailBlock(Array(content.suffix(TailBlock.size))),
      block.tailLength == UInt64(content.count)
    else { return .damaged(from: stream.start) }
    return IndexPlace(
      start: stream.start, index: IndexExtent(content.prefix(Int(block.indexLength))))
  }

  /// The last stream of the file, if it has a single block; nil also if its end is damaged.
  private func lastStream() throws(BatchError) -> (start: UInt64, plainSize: UInt64)? {
    guard size >= 2 * Self.headerSize else { return nil }
    let footer = try file.bytes(at: size - Self.headerSize, count: Int(Self.headerSize))
    var flags = lzma_stream_flags()
    guard lzma_stream_footer_decode(&flags, footer) == LZMA_OK, flags.backward_size <= Self.largestList,
      flags.backward_size <= size - Self.headerSize
    else { return nil }
    let listStart = size - Self.headerSize - flags.backward_size
    let list = try file.bytes(at: listStart, count: Int(flags.backward_size))
    var limit = UInt64(1) << 20
    var index: OpaquePointer?
    var position = 0
    guard lzma_index_buffer_decode(&index, &limit, nil, list, &position, list.count) == LZMA_OK,
      let index
    else { return nil }
    defer { lzma_index_end(index, nil) }
    let length = lzma_index_stream_size(index)
    guard lzma_index_block_count(index) == 1, length <= size else { return nil }
    return (size - length, lzma_index_uncompressed_size(index))
  }

  /// Whether the stream at an offset contains an index: its content begins like one.
  private func holdsIndex(at start: UInt64) throws(BatchError) -> Bool {
    let bytes = try file.bytes(at: start, count: Int(min(Self.startSize, size - start)))
    let decoder = try CompressionFormat.xz.makeDecoder(file.decoding, by: right)
    var content = [UInt8]()
    bytes.withUnsafeBytes { raw in
      // From a damaged stream, as much as can be decoded.
      try? decoder.decode(raw) { (piece) throws(BatchError) in
        content.append(contentsOf: piece.prefix(4 - min(4, content.count)))
      }
    }
    var magic = [UInt8]()
    magic.appendLittleEndian(ZstdCodec.magic)
    return zip(content, magic).count(where: ==) >= Self.fewestEqual
  }
}
