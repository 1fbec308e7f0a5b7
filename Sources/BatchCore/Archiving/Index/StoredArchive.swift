import BatchEngine

/// Size and SHA-256 of an archive as it was stored in a file; of an encrypted one, those of the encrypted file.
package struct StoredArchive: Sendable, Hashable {
  /// In bytes.
  package let size: UInt64
  package let digest: Digest

  package init(size: UInt64, digest: Digest) {
    (self.size, self.digest) = (size, digest)
  }
}

/// The record in a compacted archive of the archive that it was made from; docs/formats.md describes it.
///
/// Only the index is needed to read members. So the record is not a part of it, and a reader that does not know it skips its frame.
struct OriginRecord {
  static let mark = Array("BPORIG01".utf8)
  private static let digestSize = 32
  /// In bytes.
  static let size = mark.count + MemoryLayout<UInt64>.size + 2 * digestSize

  /// - Parameter index: the digest of the index beside which the record stands.
  static func bytes(_ origin: StoredArchive, index: Digest) throws(BatchError) -> [UInt8] {
    var bytes = mark
    bytes.appendLittleEndian(origin.size)
    bytes += origin.digest.bytes
    return bytes + (try Digest.sha256(of: bytes + index.bytes)).bytes
  }

  /// - Returns: nil for a record that is damaged, or that belongs to another index.
  static func read(_ bytes: [UInt8], index: Digest) throws(BatchError) -> StoredArchive? {
    var reader = LittleEndianReader(bytes[...])
    guard reader.take(mark.count)?.elementsEqual(mark) == true, let size = reader.number(UInt64.self),
      let digest = reader.take(digestSize).flatMap({ Digest(.sha256, bytes: $0) }),
      let check = reader.take(digestSize), reader.rest == 0,
      check.elementsEqual(try Digest.sha256(of: Array(bytes.dropLast(digestSize)) + index.bytes).bytes)
    else { return nil }
    return StoredArchive(size: size, digest: digest)
  }
}
