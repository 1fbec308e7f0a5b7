import BatchEngine
import CDeflate

/// A piece of an archive that is decoded by itself: one zstd frame, gzip member, xz stream or lz4 frame, or
/// bytes as they are.
package struct ArchiveFrame: Sendable {
  let bytes: [UInt8]
  let plainSize: UInt64
  /// The CRC-32 of the bytes.
  let check: UInt32
  /// Of what they decode to, where the archive is to be read back.
  let content: Digest?

  init(bytes: [UInt8], plainSize: UInt64, content: Digest? = nil) {
    self.bytes = bytes
    self.plainSize = plainSize
    self.content = content
    check = bytes.withUnsafeBytes { Self.check(of: $0) }
  }

  /// What the content of a frame is known by when it is read back: its XXH3-128.
  static func content(of plain: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: plain) { (raw) throws(BatchError) in try DigestStream(.xxh128).digest(of: raw) }
  }

  /// What the index has of the bytes of a frame. Plain bytes have no other check, and those of gzip, zstd and
  /// lz4 pass over some of theirs.
  static func check(of bytes: UnsafeRawBufferPointer) -> UInt32 {
    libdeflate_crc32(0, bytes.baseAddress, bytes.count)
  }
}

/// Where a frame lies in the archive, and its content in the plain archive.
struct FramePlace: Sendable, Hashable {
  let offset: UInt64
  let size: UInt64
  let plainOffset: UInt64
  let plainSize: UInt64
  let check: UInt32
}
