import BatchEngine
import CLZMA

/// Reads the indexes of an xz file from its end, streams and padding included.
struct XZIndexReader {
  /// The most memory for the index of a file, in bytes: about two million blocks.
  private static let memoryLimit: UInt64 = 64 << 20

  private static let windowSize = 256 << 10
  /// What liblzma asks for at once.
  private static let sizeAhead: UInt64 = 8192

  let size: UInt64

  /// - Returns: one part for each block, nil if the indexes cannot be read or are invalid.
  func parts(_ read: PartReader) throws(BatchError) -> [CompressedPart]? {
    var stream = lzma_stream()
    defer { lzma_end(&stream) }
    var index: OpaquePointer?
    defer { lzma_index_end(index, nil) }
    // liblzma keeps the address of the index until it has finished.
    return try withUnsafeMutablePointer(to: &index) { place throws(BatchError) in
      guard
        lzma_file_info_decoder(&stream, place, Self.memoryLimit, size) == LZMA_OK,
        try decode(&stream, read), let index = place.pointee
      else { return nil }
      return blocks(of: index)
    }
  }

  /// Passes liblzma the bytes at the offsets that it requests.
  ///
  /// liblzma goes from the last stream to the first and asks for a few bytes of each, so a window is read that ends shortly behind the
  /// requested offset, and serves the streams before it too.
  private func decode(_ stream: inout lzma_stream, _ read: PartReader) throws(BatchError) -> Bool {
    try withUnsafeTemporaryAllocation(byteCount: Self.windowSize, alignment: 1) { buffer throws(BatchError) in
      var window: Range<UInt64> = 0..<0
      var offset: UInt64 = 0
      var isBackward = false
      while true {
        if stream.avail_in == 0 {
          guard offset < size else { return false }
          if !window.contains(offset) {
            let end = isBackward ? min(size, offset + Self.sizeAhead) : offset
            let start = isBackward ? end - min(end, UInt64(Self.windowSize)) : offset
            window = start..<(start + UInt64(try read(start, buffer)))
            guard window.contains(offset) else { return false }
            isBackward = false
          }
          let rest = UnsafeRawBufferPointer(rebasing: buffer[Int(offset - window.lowerBound)..<window.count])
          stream.next_in = rest.bytes
          stream.avail_in = rest.count
          offset = window.upperBound
        }
        switch lzma_code(&stream, LZMA_RUN) {
        case LZMA_OK: continue
        case LZMA_STREAM_END: return true
        case LZMA_SEEK_NEEDED:
          guard stream.seek_pos <= size else { return false }
          isBackward = stream.seek_pos < offset
          offset = stream.seek_pos
          stream.avail_in = 0
        default: return false
        }
      }
    }
  }

  private func blocks(of index: OpaquePointer) -> [CompressedPart]? {
    var parts: [CompressedPart] = []
    var place = lzma_index_iter()
    lzma_index_iter_init(&place, index)
    while lzma_index_iter_next(&place, LZMA_INDEX_ITER_NONEMPTY_BLOCK) == 0 {
      let block = place.block
      let (compressedEnd, isLong) = block.compressed_file_offset.addingReportingOverflow(block.total_size)
      let plainStart = block.uncompressed_file_offset
      let (plainEnd, isLarge) = plainStart.addingReportingOverflow(block.uncompressed_size)
      guard !isLong, !isLarge, compressedEnd <= size, let flags = place.stream.flags else { return nil }
      parts.append(
        CompressedPart(
          compressed: block.compressed_file_offset..<compressedEnd,
          plain: plainStart..<plainEnd, check: flags.pointee.check.rawValue))
    }
    return parts
  }
}
