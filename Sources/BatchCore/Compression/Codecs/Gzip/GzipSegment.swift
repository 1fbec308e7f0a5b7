import BatchEngine
import CDeflate
import CZlib

/// Inflates consecutive blocks of a DEFLATE stream without the data before them.
enum GzipSegment {
  /// Bytes of content whose checksum is computed while they are in the cache of the processor.
  static let pieceSize = 128 << 10

  /// - Parameter room: one byte larger than the expected content.
  /// - Returns: the CRC-32 of the content; nil if its length differs, or the bytes do not end at a block boundary.
  static func inflate(_ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> UInt32? {
    if let library = try? InflateLibrary.shared.result().get() {
      return inflate(bytes, into: room, by: library)
    }
    guard inflateByZlib(bytes, into: room) else { return nil }
    let content = UnsafeRawBufferPointer(rebasing: room.dropLast())
    return UInt32(truncatingIfNeeded: libdeflate_crc32(0, content.baseAddress, content.count))
  }

  static func inflate(
    _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, by library: InflateLibrary
  ) -> UInt32? {
    let stream = InflateStream(library)
    stream.begin()
    var (rest, produced, check) = (bytes, 0, UInt32(0))
    while true {
      let piece = UnsafeMutableRawBufferPointer(
        rebasing: room[produced..<min(produced + pieceSize, room.count)])
      let step = stream.step(rest, into: piece)
      check = library.check(UnsafeRawBufferPointer(rebasing: piece[..<step.produced]), after: check)
      produced += step.produced
      rest = UnsafeRawBufferPointer(rebasing: rest[step.consumed...])
      guard !step.isCorrupt, produced < room.count else { return nil }
      if step.produced < piece.count {
        return rest.isEmpty && produced == room.count - 1 && stream.isBetweenBlocks ? check : nil
      }
    }
  }

  static func inflateByZlib(_ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Bool
  {
    var stream = z_stream()
    guard
      inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK,
      bytes.count <= UInt32.max, room.count <= UInt32.max
    else { return false }
    defer { inflateEnd(&stream) }
    stream.next_in = UnsafeMutablePointer(mutating: bytes.bytes)
    stream.avail_in = UInt32(bytes.count)
    stream.next_out = room.bytes
    stream.avail_out = UInt32(room.count)
    let result = CZlib.inflate(&stream, Z_NO_FLUSH)
    // The position is between blocks, not after the last one, and no bit of the last byte is unused.
    return result == Z_OK && stream.avail_in == 0 && stream.avail_out == 1 && stream.data_type == 128
  }
}
