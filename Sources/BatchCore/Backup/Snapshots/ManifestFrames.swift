import BatchEngine

/// Compresses the lines of a backup manifest to zstd frames of whole lines, so that parts of it can be read.
///
/// Format: zstd's seekable format (contrib/seekable_format of zstd): the frames, then a skippable frame with their sizes. `zstdcat`
/// decompresses it.
struct ManifestFrameWriter {
  /// A frame ends with the line in which it reaches this size, in bytes. Larger frames are not noticeably smaller.
  private static let frameSize = 256 << 10
  /// Higher levels save 5 % at most, and a night without changes writes little else.
  private static let level = 1

  private let codec: any CodecContext
  private var frames: [ZstdSeekTable.Frame] = []

  init() throws(BatchError) {
    codec = try CompressionFormat.zst.makeContext(level: Self.level)
  }

  /// Compresses the lines from the beginning of a buffer that fill frames, and removes them.
  ///
  /// - Parameter isAll: whether the rest becomes a frame too.
  /// - Returns: the frames.
  mutating func take(from lines: inout [UInt8], isAll: Bool) throws(BatchError) -> [UInt8] {
    var output = [UInt8]()
    var start = 0
    while lines.count - start >= Self.frameSize || isAll && start < lines.count {
      let least = start + Self.frameSize - 1
      let end = lines[min(least, lines.count - 1)...].firstIndex(of: UInt8(ascii: "\n")) ?? lines.count - 1
      let size = output.count
      try withBytes(of: lines) { (raw) throws(BatchError) in
        try codec.compress(wholeFile: UnsafeRawBufferPointer(rebasing: raw[start...end]), into: &output)
      }
      frames.append(
        ZstdSeekTable.Frame(compressed: UInt32(output.count - size), plain: UInt32(end + 1 - start)))
      start = end + 1
    }
    lines.removeSubrange(..<start)
    return output
  }

  /// The table after the last frame.
  func table() -> [UInt8] { ZstdSeekTable.bytes(of: frames) }
}

/// The decompressed bytes of a manifest in frames, with random access.
///
/// One thread uses it at a time.
final class ManifestFrames {
  /// The most bytes of a frame. A line has at most 1 MiB, and a frame ends with the line in which it has 256 KiB.
  private static let largestFrame = 4 << 20

  /// The decompressed size in bytes.
  let size: UInt64
  private let read: (Range<UInt64>) throws(BatchError) -> [UInt8]
  private let decoder: ZstdFrameDecoder
  /// The offsets of each frame in the file and in the decompressed bytes, and behind them those of the end.
  private let starts: [(compressed: UInt64, plain: UInt64)]
  /// The last frame that was read.
  private var current = 0..<UInt64(0)
  private var bytes: [UInt8] = []

  /// - Parameter read: reads a range of the file; returns fewer bytes at its end.
  /// - Throws: `malformed` for a file without a valid table.
  init(
    size: UInt64, memory: Int, by read: @escaping (Range<UInt64>) throws(BatchError) -> [UInt8]
  ) throws(BatchError) {
    let table = try ZstdSeekTable.read(
      size: size, most: UInt64(clamping: memory / 4),
      tooLarge: BatchError(
        .exhausted, "the table of its frames needs more memory than the limit", remedy: .raiseMemory),
      by: read)
    guard let frames = table?.frames else { throw Self.damaged }
    var starts: [(compressed: UInt64, plain: UInt64)] = [(0, 0)]
    starts.reserveCapacity(frames.count + 1)
    var (compressed, plain) = (UInt64(0), UInt64(0))
    for frame in frames {
      guard frame.plain > 0, frame.plain <= Self.largestFrame, frame.compressed <= 2 * Self.largestFrame
      else {
        throw Self.damaged
      }
      (compressed, plain) = (compressed + UInt64(frame.compressed), plain + UInt64(frame.plain))
      starts.append((compressed, plain))
    }
    (self.starts, self.size, self.read) = (starts, plain, read)
    decoder = try ZstdFrameDecoder(windowLog: DecoderOptions.usualWindowLog)
  }

  private static var damaged: BatchError {
    BatchError(.malformed, "the backup manifest is damaged: its frames are not as its table says")
  }

  /// Fills the memory with decompressed bytes from an offset; fewer only at their end.
  ///
  /// - Throws: `malformed` for a damaged frame.
  func read(at offset: UInt64, into room: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    var filled = 0
    while filled < room.count, offset + UInt64(filled) < size {
      let position = offset + UInt64(filled)
      if !current.contains(position) { try load(frameAt: position) }
      let part = bytes[Int(position - current.lowerBound)...].prefix(room.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyBytes(from: part)
      filled += part.count
    }
    return filled
  }

  private func load(frameAt position: UInt64) throws(BatchError) {
    // The first frame that begins behind it.
    var (low, high) = (1, starts.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle].plain > position { high = middle } else { low = middle + 1 }
    }
    let (start, end) = (starts[low - 1], starts[low])
    let frame = try read(start.compressed..<end.compressed)
    guard UInt64(frame.count) == end.compressed - start.compressed else { throw Self.damaged }
    current = 0..<0
    bytes.removeAll(keepingCapacity: true)
    let size = Int(end.plain - start.plain)
    try bytes.append(upTo: size) { (base) throws(BatchError) in
      let count = try withBytes(of: frame) { (raw) throws(BatchError) in
        decoder.decode(wholeFrame: raw) { count in
          count == size ? UnsafeMutableRawBufferPointer(start: base, count: size) : nil
        }
      }
      guard count == size else { throw Self.damaged }
      return size
    }
    current = start.plain..<end.plain
  }
}
