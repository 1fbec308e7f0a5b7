import BatchEngine

/// Finds the parts of a compressed file that several lanes can decode at the same time.
///
/// zstd frames are found from header to header, reading three bytes for each 128 KiB of content; xz files have an index at
/// their end, and our large gzip files have one at their start. Other files do not record sizes.
package enum PartScanner {
  /// The parts in order, which together contain all content of the file.
  ///
  /// Nothing is decoded or verified here: the decoder of each part checks it, see ``CompressionFormat/makeDecoder(of:_:)``.
  /// - Parameters:
  ///   - size: the size of the compressed file in bytes.
  ///   - smallest: parts with less content than this are joined with the next one.
  /// - Returns: nil when the file has fewer than two parts, does not record its sizes, or is damaged: then one
  ///   ``StreamDecoder`` must decode all of it, which also reports the damage.
  /// - Throws: the error of `read`.
  package static func parts(
    of format: CompressionFormat, size: UInt64, smallest: UInt64 = 1 << 20, read: PartReader
  ) throws(BatchError) -> CompressedParts? {
    guard let found = try format.codec.parts(size: size, read) else { return nil }
    var parts: [CompressedPart] = []
    for part in found.parts {
      if let last = parts.last, last.plainSize < smallest, let joined = last.joined(with: part) {
        parts[parts.count - 1] = joined
      } else {
        parts.append(part)
      }
    }
    return parts.count > 1 ? CompressedParts(parts: parts, check: found.check) : nil
  }
}
