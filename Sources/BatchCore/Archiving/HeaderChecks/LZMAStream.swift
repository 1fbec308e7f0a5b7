import CLZMA

/// A stream of LZMA in memory, as 7z and zip have it: without the header of a `.lzma` file.
struct LZMAStream {
  /// The literal and position bits, and the size of the dictionary: 5 bytes.
  let properties: ArraySlice<UInt8>
  /// The size of the content.
  let size: UInt64
  /// Whether a mark follows the content.
  var hasEndMark = false

  /// The content; nil if the stream cannot be decoded, or has other bytes after it.
  func decode(_ packed: ArraySlice<UInt8>) -> [UInt8]? {
    var stream = lzma_stream()
    guard properties.count == 5, lzma_alone_decoder(&stream, UInt64.max) == LZMA_OK else { return nil }
    defer { lzma_end(&stream) }
    // The header of a .lzma file has the same properties, followed by the size. A dictionary larger than the content is
    // useless, and a damaged or hostile header may claim one of 4 GiB.
    let dictionary = min(properties.dropFirst().little(at: 0) as UInt32, UInt32(clamping: max(size, 4096)))
    let header =
      Array(properties.prefix(1)) + withUnsafeBytes(of: dictionary.littleEndian) { Array($0) }
      + withUnsafeBytes(of: (hasEndMark ? UInt64.max : size).littleEndian) { Array($0) }
    let input = header + packed
    return input.withUnsafeBufferPointer { input -> [UInt8]? in
      guard let size = Int(exactly: size) else { return nil }
      // The decoder needs room also for no content.
      let capacity = max(size, 1)
      var isWhole = false
      let plain = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
        stream.next_in = input.baseAddress
        stream.avail_in = input.count
        stream.next_out = output.baseAddress
        stream.avail_out = capacity
        var result = LZMA_OK
        while result == LZMA_OK { result = lzma_code(&stream, LZMA_FINISH) }
        count = capacity - stream.avail_out
        isWhole = result == LZMA_STREAM_END && count == size && (!hasEndMark || stream.avail_in == 0)
      }
      return isWhole ? plain : nil
    }
  }
}
