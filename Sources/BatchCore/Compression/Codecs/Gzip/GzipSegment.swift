import BatchEngine
import CDeflate
import CZlib

/// Inflates consecutive blocks of a DEFLATE stream without the data before them.
enum GzipSegment {
  /// - Parameter room: one byte larger than the expected content.
  /// - Returns: the CRC-32 of the content; nil if its length differs, or the bytes do not end at a block boundary.
  static func inflate(_ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> UInt32? {
    let content = UnsafeRawBufferPointer(rebasing: room.dropLast())
    if let library = try? InflateLibrary.shared.result().get() {
      return inflate(bytes, into: room, by: library) ? library.check(content) : nil
    }
    guard inflateByZlib(bytes, into: room) else { return nil }
    return UInt32(truncatingIfNeeded: libdeflate_crc32(0, content.baseAddress, content.count))
  }

  static func inflate(
    _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, by library: InflateLibrary
  ) -> Bool {
    let stream = InflateStream(library)
    stream.begin()
    let step = stream.step(bytes, into: room)
    return !step.isCorrupt && step.consumed == bytes.count && step.produced == room.count - 1
      && stream.isBetweenBlocks
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
    stream.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.avail_out = UInt32(room.count)
    let result = CZlib.inflate(&stream, Z_NO_FLUSH)
    // The position is between blocks, not after the last one, and no bit of the last byte is unused.
    return result == Z_OK && stream.avail_in == 0 && stream.avail_out == 1 && stream.data_type == 128
  }
}
