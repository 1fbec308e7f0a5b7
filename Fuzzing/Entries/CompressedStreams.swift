@testable import BatchCore
@testable import BatchEngine

private let formats: [CompressionFormat] = [.gz, .zst, .xz, .lz4, .bz2, .lz, .lzma, .lzw]
private let largest: UInt64 = 1 << 20
private nonisolated(unsafe) var decoders: [CompressionFormat: StreamDecoder] = [:]

/// A compressed file in each format: as a whole and in pieces it has the same content, or is damaged in both ways.
func fuzzCompressedStreams(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let format = formats[Int(start[0]) % formats.count]
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  guard let decoder = decoder(of: format) else { return }
  let whole = decode(decoder, input, most: .max)
  let pieces = decode(decoder, input, most: 1 + Int(start[0] / 8))
  precondition((whole == nil) == (pieces == nil), "pieces of a file are judged otherwise than all of it")
  precondition(whole == pieces, "pieces of a file have another content")
}

private func decoder(of format: CompressionFormat) -> StreamDecoder? {
  if let decoder = decoders[format] { return decoder }
  let options = DecoderOptions(maximumOutput: largest, memory: 64 << 20)
  decoders[format] = try? format.makeDecoder(options, by: RunContext().reading)
  return decoders[format]
}

/// - Returns: nil for a file that is damaged or too large.
private func decode(_ decoder: StreamDecoder, _ input: UnsafeRawBufferPointer, most: Int) -> [UInt8]? {
  decoder.reset()
  var content: [UInt8] = []
  do {
    if most == .max {
      try decoder.decode(wholeFile: input) { content += $0 }
    } else {
      var rest = input[...]
      while !rest.isEmpty {
        try decoder.decode(UnsafeRawBufferPointer(rebasing: rest.prefix(most))) { content += $0 }
        rest = rest.dropFirst(most)
      }
      try decoder.finish()
    }
  } catch {
    return nil
  }
  precondition(UInt64(content.count) <= largest, "more than was allowed")
  return content
}
