@testable import BatchCore
@testable import BatchEngine

private let formats: [CompressionFormat] = [.gz, .zst, .xz, .lz4, .bz2, .lz, .lzma, .lzw]
private let largest: UInt64 = 1 << 20
private let tooLarge = BatchError(.exhausted, "more than is looked at")

/// A decoder that stops at the largest content by itself, and one without a limit that uses the faster ways.
private nonisolated(unsafe) var decoders: [CompressionFormat: (bounded: StreamDecoder, free: StreamDecoder)] =
  [:]

/// A compressed file in each format: decoded as a whole, hastily and in pieces, it must have the same
/// content, or be damaged in all ways. The library of the format must decode an accepted file to the same
/// content.
func fuzzCompressedStreams(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let format = formats[Int(start[0]) % formats.count]
  let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  guard let (bounded, free) = decoder(of: format) else { return }
  let pieces: [UInt8]?
  do {
    pieces = try contentOrLimit(bounded, input, most: 1 + Int(start[0] / 8))
  } catch {
    // Other ways need less memory, because they do not keep a window.
    return
  }
  precondition(
    decode(bounded, input, most: .max) == pieces, "pieces of a file are judged otherwise than all of it")
  precondition(decode(free, input, most: .max) == pieces, "the way of whole files judges otherwise")
  let hasty = decode(free, input, most: 1 + Int(start[0] / 8), isHasty: true)
  // A file with damage that the hasty decoder reports is decoded again without haste.
  precondition(hasty == nil || hasty == pieces, "haste accepts something else")
  guard let pieces else { return }
  let stock = StockDecoder.content(of: input, format, largest: Int(largest))
  precondition(stock == pieces, "the library of the format does not accept this")
}

private func decoder(of format: CompressionFormat) -> (bounded: StreamDecoder, free: StreamDecoder)? {
  if let known = decoders[format] { return known }
  let right = RunContext().reading
  guard
    let bounded = try? format.makeDecoder(
      DecoderOptions(maximumOutput: largest, windowLog: 26, memoryLimit: 64 << 20), by: right),
    let free = try? format.makeDecoder(DecoderOptions(windowLog: 26, memoryLimit: 64 << 20), by: right)
  else { return nil }
  decoders[format] = (bounded, free)
  return (bounded, free)
}

/// - Returns: nil for a file that is damaged or too large.
private func decode(
  _ decoder: StreamDecoder, _ input: UnsafeRawBufferPointer, most: Int, isHasty: Bool = false
) -> [UInt8]? {
  try? contentOrLimit(decoder, input, most: most, isHasty: isHasty)
}

/// - Returns: nil for a file that is damaged.
/// - Throws: `exhausted` at a limit.
private func contentOrLimit(
  _ decoder: StreamDecoder, _ input: UnsafeRawBufferPointer, most: Int, isHasty: Bool = false
) throws(BatchError) -> [UInt8]? {
  decoder.reset(isHasty: isHasty)
  var content: [UInt8] = []
  let take: StreamDecoder.Sink = { (piece) throws(BatchError) in
    guard content.count + piece.count <= Int(largest) else { throw tooLarge }
    content += piece
  }
  do {
    if most == .max {
      try decoder.decode(wholeFile: input, to: take)
    } else {
      var rest = input[...]
      while !rest.isEmpty {
        try decoder.decode(UnsafeRawBufferPointer(rebasing: rest.prefix(most)), to: take)
        rest = rest.dropFirst(most)
      }
      try decoder.finish()
    }
  } catch {
    if case .failed(let error) = error, error.code == .exhausted { throw error }
    return nil
  }
  return content
}
