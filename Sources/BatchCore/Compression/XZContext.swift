import CLZMA

/// xz streams with CRC-64, and the blocks of larger ones.
final class XZContext: CodecContext {
  let format = CompressionFormat.xz
  let level: Int
  // In bytes; liblzma takes no smaller one.
  private static let smallestDictionary = 4096

  init(level: Int) {
    self.level = level
  }

  /// How far back the compressor looks at a level, in bytes.
  static func dictionarySize(level: Int) -> Int {
    Int(options(level: level).dict_size)
  }

  func compress(wholeFile: UnsafeRawBufferPointer, into output: inout [UInt8]) throws(BatchError) {
    try withFilters(for: wholeFile.count) { filters throws(BatchError) in
      let bound = lzma_stream_buffer_bound(wholeFile.count)
      try output.append(upTo: bound) { room throws(BatchError) in
        var count = 0
        let result = lzma_stream_buffer_encode(
          filters, LZMA_CHECK_CRC64, nil, wholeFile.bytes, wholeFile.count, room, &count, bound)
        guard result == LZMA_OK else { throw .noCodecMemory }
        return count
      }
    }
  }

  func compress(block: UnsafeRawBufferPointer, index: Int) throws(BatchError) -> CompressedBlock {
    try withFilters(for: block.count) { filters throws(BatchError) in
      var description = lzma_block()
      description.check = LZMA_CHECK_CRC64
      description.filters = filters
      let bound = lzma_block_buffer_bound(block.count)
      var bytes: [UInt8] = []
      try bytes.append(upTo: bound) { room throws(BatchError) in
        var count = 0
        let result = lzma_block_buffer_encode(
          &description, nil, block.bytes, block.count, room, &count, bound)
        guard result == LZMA_OK else { throw .noCodecMemory }
        return count
      }
      return CompressedBlock(
        index: index, bytes: bytes, plainCount: block.count,
        unpaddedSize: lzma_block_unpadded_size(&description))
    }
  }

  private static func options(level: Int) -> lzma_options_lzma {
    var options = lzma_options_lzma()
    // False for every level that there is.
    _ = lzma_lzma_preset(&options, UInt32(level))
    return options
  }

  /// Gives the filters of the level, with a dictionary no larger than the content asks for: the stock tool
  /// would clear 32 MiB of tables for a file of one line, and its reader take 8 MiB.
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

extension UnsafeRawBufferPointer {
  /// The address in the type that C libraries want for bytes.
  var bytes: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
}
