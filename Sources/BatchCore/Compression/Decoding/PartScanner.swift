import BatchEngine

/// Finds the parts of a compressed file that several lanes can decode at the same time.
///
/// zstd frames are followed from header to header, which reads three bytes of each 128 KiB of content; xz
/// files tell by the index at their end. gzip members and lz4 frames do not tell their length.
package enum PartScanner {
  /// Fills the buffer from an offset of the compressed file on; returns fewer bytes only at its end.
  package typealias Reader =
    (_ offset: UInt64, _ buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int

  /// The parts in order, which together are all content of the file.
  ///
  /// Nothing is decoded here and nothing is proved: a decoder of each part checks it, by
  /// ``CompressionFormat/makeDecoder(of:_:)``.
  /// - Parameters:
  ///   - size: the size of the compressed file in bytes.
  ///   - smallest: parts with less content than this are joined with what follows.
  /// - Returns: nil when the file has no two parts, does not tell its sizes, or is damaged: then one
  ///   ``StreamDecoder`` has to go over all of it, which also names the damage.
  /// - Throws: what `read` throws.
  package static func parts(
    of format: CompressionFormat, size: UInt64, smallest: UInt64 = 1 << 20, read: Reader
  ) throws(BatchError) -> [CompressedPart]? {
    let found: [CompressedPart]? =
      switch format {
      case .zst: try ZstdFrameScanner(size: size).parts(read)
      case .xz: try XZIndexReader(size: size).parts(read)
      case .gz, .lz4, .bz2, .lz, .lzma, .lzw: nil
      }
    guard let found else { return nil }
    var parts: [CompressedPart] = []
    for part in found {
      if let last = parts.last, last.plainSize < smallest, let joined = last.joined(with: part) {
        parts[parts.count - 1] = joined
      } else {
        parts.append(part)
      }
    }
    return parts.count > 1 ? parts : nil
  }
}

extension CompressionFormat {
  /// A decoder for one part of a file, for one thread: it is fed the part's bytes, and then asked to finish.
  ///
  /// What it hands out belongs at the part's place in the content; when that is more or less than
  /// ``CompressedPart/plain`` says, the part is damaged.
  /// - Throws: `.exhausted` when memory is missing.
  package func makeDecoder(
    of part: CompressedPart, _ options: DecoderOptions = DecoderOptions(), by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    guard self == .xz else { return try makeDecoder(options, by: right) }
    return try StreamDecoder(
      self, XZBlockDecoder(check: part.check, memoryLimit: options.memoryLimit), options)
  }
}
