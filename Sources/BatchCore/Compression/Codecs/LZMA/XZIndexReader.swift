import BatchEngine
import CLZMA

/// Reads the indexes of an xz file from its end, streams and padding included.
///
/// Each stream has an index of its own, which is decoded alone: `lzma_file_info_decoder` joins them, in time that grows with the square
/// of the number of streams.
struct XZIndexReader {
  /// The most memory for the index of a stream, in bytes.
  private static let memoryLimit: UInt64 = 64 << 20
  /// The most blocks of a file.
  private static let mostBlocks = 2 << 20
  /// Bytes that are read at once.
  private static let windowSize = 64 << 10
  /// The size of the header and of the footer of a stream.
  private static let headerSize = UInt64(LZMA_STREAM_HEADER_SIZE)

  let size: UInt64

  /// Bytes of the file that were read.
  private struct Window {
    var start: UInt64 = 0
    var bytes: [UInt8] = []
  }

  private struct Block {
    let compressed: Range<UInt64>
    let plainSize: UInt64
    let check: UInt32
  }

  /// - Returns: one part for each block, nil if the indexes cannot be read or are invalid.
  func parts(_ read: PartReader) throws(BatchError) -> [CompressedPart]? {
    var window = Window()
    // The last one is first.
    var blocks: [Block] = []
    var end = size
    while end > 0 {
      guard end >= 2 * Self.headerSize, end.isMultiple(of: 4),
        let footer = try bytes(at: end - Self.headerSize, Self.headerSize, &window, read)
      else { return nil }
      if footer.suffix(4).allSatisfy({ $0 == 0 }) {
        end -= 4
        continue
      }
      guard let start = try stream(before: end, footer, &window, read, into: &blocks),
        blocks.count <= Self.mostBlocks
      else { return nil }
      end = start
    }
    var parts: [CompressedPart] = []
    parts.reserveCapacity(blocks.count)
    var plain: UInt64 = 0
    for block in blocks.reversed() {
      let (next, isLarge) = plain.addingReportingOverflow(block.plainSize)
      guard !isLarge else { return nil }
      parts.append(CompressedPart(compressed: block.compressed, plain: plain..<next, check: block.check))
      plain = next
    }
    return parts
  }

  /// Adds the blocks of the stream that ends at an offset, the last one first.
  ///
  /// - Returns: the offset at which the stream begins; nil if it is not valid.
  private func stream(
    before end: UInt64, _ footer: ArraySlice<UInt8>, _ window: inout Window, _ read: PartReader,
    into blocks: inout [Block]
  ) throws(BatchError) -> UInt64? {
    guard let flags = Self.flags(footer, lzma_stream_footer_decode) else { return nil }
    let indexSize = flags.backward_size
    guard indexSize <= min(end - 2 * Self.headerSize, Self.memoryLimit) else { return nil }
    let indexStart = end - Self.headerSize - indexSize
    guard let bytes = try bytes(at: indexStart, indexSize, &window, read) else { return nil }
    var index: OpaquePointer?
    defer { lzma_index_end(index, nil) }
    var memory = Self.memoryLimit
    var position = 0
    let result = bytes.withUnsafeBufferPointer {
      lzma_index_buffer_decode(&index, &memory, nil, $0.baseAddress, &position, $0.count)
    }
    guard result == LZMA_OK, position == bytes.count, let index else { return nil }
    let total = lzma_index_total_size(index)
    guard total <= indexStart - Self.headerSize else { return nil }
    let start = indexStart - total - Self.headerSize
    guard let header = try self.bytes(at: start, Self.headerSize, &window, read),
      var first = Self.flags(header, lzma_stream_header_decode)
    else { return nil }
    var last = flags
    guard lzma_stream_flags_compare(&first, &last) == LZMA_OK else { return nil }
    return Self.add(index, from: start, before: indexStart, check: flags.check.rawValue, to: &blocks)
      ? start : nil
  }

  private static func add(
    _ index: OpaquePointer, from start: UInt64, before end: UInt64, check: UInt32, to blocks: inout [Block]
  ) -> Bool {
    var found: [Block] = []
    var place = lzma_index_iter()
    lzma_index_iter_init(&place, index)
    while lzma_index_iter_next(&place, LZMA_INDEX_ITER_NONEMPTY_BLOCK) == 0 {
      let block = place.block
      let (first, isFar) = start.addingReportingOverflow(block.compressed_file_offset)
      let (last, isLong) = first.addingReportingOverflow(block.total_size)
      guard !isFar, !isLong, last <= end else { return false }
      found.append(Block(compressed: first..<last, plainSize: block.uncompressed_size, check: check))
    }
    blocks += found.reversed()
    return true
  }

  private static func flags(
    _ bytes: ArraySlice<UInt8>,
    _ decode: (UnsafeMutablePointer<lzma_stream_flags>?, UnsafePointer<UInt8>?) -> lzma_ret
  ) -> lzma_stream_flags? {
    var flags = lzma_stream_flags()
    let result = bytes.withUnsafeBufferPointer { decode(&flags, $0.baseAddress) }
    return result == LZMA_OK ? flags : nil
  }

  /// Bytes at an offset; the caller checks that the file has them. A window that ends there is read, and serves the streams before too.
  ///
  /// - Returns: nil if the file has become shorter.
  private func bytes(
    at offset: UInt64, _ count: UInt64, _ window: inout Window, _ read: PartReader
  ) throws(BatchError) -> ArraySlice<UInt8>? {
    let end = offset + count
    if offset < window.start || end > window.start + UInt64(window.bytes.count) {
      let start = end - min(end, max(count, UInt64(Self.windowSize)))
      window.bytes = try [UInt8](upTo: Int(end - start)) { (room) throws(BatchError) in try read(start, room)
      }
      window.start = start
      guard start + UInt64(window.bytes.count) == end else { return nil }
    }
    let first = Int(offset - window.start)
    return window.bytes[first..<(first + Int(count))]
  }
}
