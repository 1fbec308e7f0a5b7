import TestSupport

@testable import BatchCore
@testable import BatchEngine

/// The codecs, for tests that keep all content in arrays.
extension CompressionFormat {
  func compressed(_ bytes: [UInt8], level: Int? = nil) throws -> [UInt8] {
    var output: [UInt8] = []
    try makeContext(level: level).compress(wholeFile: bytes, into: &output)
    return output
  }

  /// The file of joined blocks; without `context`, each block gets a new context.
  func compressedInBlocks(
    _ bytes: [UInt8], level: Int? = nil, isSizeKnown: Bool = true, context: (any CodecContext)? = nil
  ) throws -> [UInt8] {
    let plan = try BlockPlan(self, level: level, fileSize: isSizeKnown ? UInt64(bytes.count) : nil)
    let joiner = try BlockJoiner(plan)
    var output = joiner.header
    var index = 0
    while index * plan.blockSize < bytes.count {
      let start = index * plan.blockSize
      let block = Array(bytes[start..<min(bytes.count, start + plan.blockSize)])
      let context = try context ?? makeContext(level: level)
      let compressed = try context.compress(block: block, index: index)
      try joiner.append(compressed)
      output += compressed.bytes
      index += 1
    }
    return try output + joiner.finish()
  }

  /// - Parameter piece: how many bytes the decoder gets at once; nil for the whole file in one call.
  func decompressed(
    _ bytes: [UInt8], piece: Int? = nil, _ options: DecoderOptions = DecoderOptions()
  ) throws -> [UInt8] {
    try makeDecoder(options).decompressed(bytes, piece: piece)
  }

  /// The damage that the decoder finds, and the content before it.
  func damage(
    of bytes: [UInt8], piece: Int? = nil, _ options: DecoderOptions = DecoderOptions()
  ) throws -> CompressionDamage? {
    do {
      _ = try decompressed(bytes, piece: piece, options)
      return nil
    } catch DecodingError.damaged(let damage) {
      return damage
    }
  }

  /// Tests a file with the stock tool, which gets it on stdin.
  func stockTest(_ bytes: [UInt8]) throws -> Outcome {
    try Outcome(shell: "\(toolName) -t", input: bytes)
  }
}

extension CodecContext {
  func compress(wholeFile: [UInt8], into output: inout [UInt8]) throws {
    try wholeFile.withUnsafeBytes { try compress(wholeFile: $0, into: &output) }
  }

  func compress(block: [UInt8], index: Int) throws -> CompressedBlock {
    try block.withUnsafeBytes { try compress(block: $0, index: index) }
  }
}

extension StreamDecoder {
  func decompressed(_ bytes: [UInt8], piece: Int? = nil) throws -> [UInt8] {
    var output: [UInt8] = []
    try bytes.withUnsafeBytes { all in
      guard let piece else {
        try decode(wholeFile: all) { piece in output.append(copyOf: piece) }
        return
      }
      reset()
      var start = 0
      while start < all.count {
        let end = min(all.count, start + piece)
        try decode(UnsafeRawBufferPointer(rebasing: all[start..<end])) { piece in output.append(copyOf: piece)
        }
        start = end
      }
      try finish()
    }
    return output
  }
}

extension [UInt8] {
  /// The same as `+=`, which is slow without optimization, since it then copies byte by byte.
  fileprivate mutating func append(copyOf piece: UnsafeRawBufferPointer) {
    append(addingCapacity: piece.count) { span in
      span.withUnsafeMutableBufferPointer { room, count in
        UnsafeMutableRawBufferPointer(room).copyMemory(from: piece)
        count = piece.count
      }
    }
  }
}
