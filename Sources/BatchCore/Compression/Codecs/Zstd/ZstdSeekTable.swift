import BatchEngine

/// The table of frames at the end of a file in zstd's seekable format.
enum ZstdSeekTable {
  /// The sizes of a frame in bytes.
  struct Frame {
    let compressed: UInt32
    let plain: UInt32
  }

  static let magic: UInt32 = 0x184D_2A5E
  static let endMagic: UInt32 = 0x8F92_EAB1
  private static let headSize: UInt64 = 8
  private static let entrySize: UInt64 = 8
  private static let endSize: UInt64 = 9

  static func bytes(of frames: [Frame]) -> [UInt8] {
    var bytes = [UInt8]()
    bytes.appendLittleEndian(magic)
    bytes.appendLittleEndian(UInt32(clamping: UInt64(frames.count) * entrySize + endSize))
    for frame in frames {
      bytes.appendLittleEndian(frame.compressed)
      bytes.appendLittleEndian(frame.plain)
    }
    bytes.appendLittleEndian(UInt32(clamping: frames.count))
    // No checksums: each frame has its own.
    bytes.append(0)
    bytes.appendLittleEndian(endMagic)
    return bytes
  }

  /// Reads the table of a file.
  ///
  /// - Parameters:
  ///   - size: the size of the file in bytes.
  ///   - most: the most bytes of the table.
  ///   - tooLarge: the error of a larger table.
  ///   - read: reads a range of the file; returns fewer bytes at its end.
  /// - Returns: the frames, and where the table begins; nil if there is no table that fits the file.
  static func read(
    size: UInt64, most: UInt64, tooLarge: BatchError,
    by read: (Range<UInt64>) throws(BatchError) -> [UInt8]
  ) throws(BatchError) -> (frames: [Frame], start: UInt64)? {
    guard size >= headSize + endSize else { return nil }
    var end = LittleEndianReader(try read((size - endSize)..<size)[...])
    guard let count = end.number(UInt32.self), let descriptor = end.number(UInt8.self),
      end.number(UInt32.self) == endMagic, descriptor & 0x7F == 0
    else { return nil }
    let checkSize = descriptor & 0x80 != 0 ? 4 : 0
    let content = UInt64(count) * (entrySize + UInt64(checkSize)) + endSize
    guard content + headSize <= size else { return nil }
    guard content <= most else { throw tooLarge }
    let start = size - content - headSize
    var reader = LittleEndianReader(try read(start..<size)[...])
    guard reader.number(UInt32.self) == magic, reader.number(UInt32.self).map(UInt64.init) == content else {
      return nil
    }
    var frames = [Frame]()
    frames.reserveCapacity(Int(count))
    var total: UInt64 = 0
    for _ in 0..<count {
      guard let compressed = reader.number(UInt32.self), let plain = reader.number(UInt32.self),
        reader.take(checkSize) != nil
      else { return nil }
      frames.append(Frame(compressed: compressed, plain: plain))
      total += UInt64(compressed)
    }
    return total == start ? (frames, start) : nil
  }
}
