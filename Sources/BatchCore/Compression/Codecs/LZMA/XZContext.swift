import BatchEngine
import CLZMA

/// xz streams with CRC-64, and the blocks of larger ones.
final class XZContext: CodecContext {
  private let level: Int
  // In bytes; liblzma accepts no smaller one.
  private static let smallestDictionary = 4096
  /// Bytes that are compressed between two cancellation checks: a tenth of a second at level 9.
  private static let sliceSize = 256 << 10

  private let check: () throws(BatchError) -> Void
  // Kept, because liblzma reuses the memory of the previous block.
  private var stream = lzma_stream()

  init(level: Int, checking check: @escaping () throws(BatchError) -> Void) {
    self.level = level
    self.check = check
  }

  deinit {
    lzma_end(&stream)
  }

  /// The dictionary size of a level, in bytes.
  static func dictionarySize(level: Int) -> Int {
    Int(options(level: level).dict_size)
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    let framing = try XZFraming()
    output += try framing.header()
    if !wholeFile.isEmpty {
      let size = try append(wholeFile, to: &output)
      try framing.append(
        CompressedBlock(index: 0, bytes: [], plainCount: wholeFile.count, unpaddedSize: size))
    }
    output += try framing.trailer(plainCount: UInt64(wholeFile.count))
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    var bytes: [UInt8] = []
    let size = try append(block, to: &bytes)
    return CompressedBlock(index: index, bytes: bytes, plainCount: block.count, unpaddedSize: size)
  }

  /// Appends a block whose header contains its sizes: `xz -T` needs them to decode in parallel.
  ///
  /// - Returns: the size that the index records.
  private func append(_ content: UnsafeRawBufferPointer, to output: inout [UInt8]) throws(BatchError)
    -> UInt64
  {
    // If parts of the content are noise, chunks end early, and each has a few bytes of header.
    let bound = lzma_block_buffer_bound(content.count) + content.count >> 8
    var description = lzma_block()
    description.check = LZMA_CHECK_CRC64
    description.compressed_size = lzma_vli(bound)
    description.uncompressed_size = lzma_vli(content.count)
    return try withFilters(for: content.count) { filters throws(BatchError) in
      description.filters = filters
      // liblzma keeps the address of the block until it is encoded.
      return try withUnsafeMutablePointer(to: &description) { block throws(BatchError) in
        guard lzma_block_header_size(block) == LZMA_OK, lzma_block_encoder(&stream, block) == LZMA_OK else {
          throw .noCodecMemory
        }
        let headerSize = Int(block.pointee.header_size)
        try output.append(upTo: headerSize + bound) { room throws(BatchError) in
          let count = try encode(content, into: room + headerSize, capacity: bound)
          guard lzma_block_header_encode(block, room) == LZMA_OK else { throw .noCodecMemory }
          return headerSize + count
        }
        return lzma_block_unpadded_size(block)
      }
    }
  }

  private func encode(
    _ content: UnsafeRawBufferPointer, into room: UnsafeMutablePointer<UInt8>, capacity: Int
  ) throws(BatchError) -> Int {
    stream.next_out = room
    stream.avail_out = capacity
    var rest = content
    while true {
      try check()
      let slice = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.sliceSize))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(slice.count))
      stream.next_in = slice.bytes
      stream.avail_in = slice.count
      let result = lzma_code(&stream, rest.isEmpty ? LZMA_FINISH : LZMA_RUN)
      if result == LZMA_STREAM_END { return capacity - stream.avail_out }
      guard result == LZMA_OK, stream.avail_out > 0, !rest.isEmpty else { throw .noCodecMemory }
    }
  }

  private static func options(level: Int) -> lzma_options_lzma {
    var options = lzma_options_lzma()
    // Returns false for every valid level.
    _ = lzma_lzma_preset(&options, UInt32(level))
    return options
  }

  /// Calls `body` with the filters of the level, with a dictionary no larger than the content needs: the stock tool clears 32
  /// MiB of tables for a file of one line, and its reader takes 8 MiB.
  private func withFilters<Result>(
    for count: Int, _ body: (UnsafeMutablePointer<lzma_filter>) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    var options = Self.options(level: level)
    let wanted = min(count, Self.dictionarySize(level: level))
    var size = Self.smallestDictionary
    while size < wanted { size <<= 1 }
    options.dict_size = UInt32(size)
    return try withUnsafeMutablePointer(to: &options) { options throws(BatchError) in
      var filters = (
        lzma_filter(id: batch_lzma_filter_lzma2, options: options),
        lzma_filter(id: batch_lzma_vli_unknown, options: nil)
      )
      return try withUnsafeMutablePointer(to: &filters) { pair throws(BatchError) in
        try pair.withMemoryRebound(to: lzma_filter.self, capacity: 2) { first throws(BatchError) in
          try body(first)
        }
      }
    }
  }
}
