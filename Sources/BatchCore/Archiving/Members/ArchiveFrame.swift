import BatchEngine
import CDeflate

/// An independently decodable piece of an archive: one zstd frame, gzip member, xz stream or lz4 frame, or uncompressed bytes.
package struct ArchiveFrame: Sendable {
  let bytes: [UInt8]
  let plainSize: UInt64
  /// The CRC-32 of the bytes.
  let check: UInt32
  /// The digest of the decoded content, if the archive is read back.
  let content: Digest?

  init(bytes: [UInt8], plainSize: UInt64, content: Digest? = nil) {
    self.bytes = bytes
    self.plainSize = plainSize
    self.content = content
    check = bytes.withUnsafeBytes { Self.check(of: $0) }
  }

  /// The digest with which decoded content is compared when the archive is read back: XXH3-128.
  static func content(of plain: [UInt8]) throws(BatchError) -> Digest {
    try withBytes(of: plain) { (raw) throws(BatchError) in try DigestStream(.xxh128).digest(of: raw) }
  }

  /// The checksum of a frame's bytes in the index. Uncompressed bytes have no other checksum, and those of gzip, zstd and lz4
  /// do not cover all bytes.
  ///
  /// - Parameter previous: the checksum of the bytes before these.
  static func check(of bytes: UnsafeRawBufferPointer, after previous: UInt32 = 0) -> UInt32 {
    guard let start = bytes.baseAddress else { return previous }
    return libdeflate_crc32(previous, start, bytes.count)
  }
}
