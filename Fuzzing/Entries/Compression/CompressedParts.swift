@testable import BatchCore
@testable import BatchEngine

private let formats: [CompressionFormat] = [.gz, .zst, .xz, .lz4, .bz2, .lz, .lzma, .lzw]
private let largest: UInt64 = 4 << 20

/// A compressed file and its parts: if all parts decode to their stated places, the whole file must decode to
/// the same content.
func fuzzCompressedParts(_ start: UnsafePointer<UInt8>, _ count: Int) {
  guard count > 1 else { return }
  let format = formats[Int(start[0]) % formats.count]
  let file = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
  let found = try? PartScanner.parts(of: format, size: UInt64(file.count), smallest: UInt64(start[0] / 8)) {
    (offset, buffer) in
    let rest = file.dropFirst(Int(clamping: offset)).prefix(buffer.count)
    buffer.copyBytes(from: rest)
    return rest.count
  }
  guard let found else { return }
  var plainEnd: UInt64 = 0
  // An index and a header are between the parts of two xz streams.
  var compressedEnd: UInt64 = 0
  for part in found.parts {
    precondition(part.plain.lowerBound == plainEnd, "content between the parts")
    precondition(compressedEnd <= part.compressed.lowerBound, "parts that are out of order")
    precondition(part.compressed.upperBound <= UInt64(file.count), "a part behind the end")
    (plainEnd, compressedEnd) = (part.plain.upperBound, part.compressed.upperBound)
  }
  guard plainEnd <= largest, let content = content(of: found, format, file) else { return }
  let whole = StockDecoder.content(of: file, format, largest: Int(largest))
  precondition(whole == content, "the parts are right, and the file is not")
}

/// - Returns: nil if a part is invalid.
private func content(
  of found: CompressedParts, _ format: CompressionFormat, _ file: UnsafeRawBufferPointer
) -> [UInt8]? {
  var content: [UInt8] = []
  var check: UInt32 = 0
  for part in found.parts {
    let range = Int(part.compressed.lowerBound)..<Int(part.compressed.upperBound)
    let bytes = UnsafeRawBufferPointer(rebasing: file[range])
    let size = Int(part.plainSize)
    if format == .gz {
      var room = [UInt8](repeating: 0, count: size + 1)
      guard let partCheck = room.withUnsafeMutableBytes({ GzipSegment.inflate(bytes, into: $0) }) else {
        return nil
      }
      check = GzipBlockTable.join(check, partCheck, count: size)
      content += room.dropLast()
    } else {
      let options = DecoderOptions(maximumOutput: largest, windowLog: 26, memoryLimit: 64 << 20)
      guard let decoder = try? format.makeDecoder(of: part, options, by: RunContext().reading) else {
        return nil
      }
      var plain: [UInt8] = []
      guard (try? decoder.decode(bytes, to: { plain += $0 })) != nil, (try? decoder.finish()) != nil,
        plain.count == size
      else { return nil }
      content += plain
    }
  }
  guard found.check == nil || found.check == check else { return nil }
  return content
}
