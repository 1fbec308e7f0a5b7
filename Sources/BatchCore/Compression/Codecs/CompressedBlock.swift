import BatchEngine

/// One compressed block of a file, with the facts that a ``BlockJoiner`` needs.
package struct CompressedBlock: Sendable {
  /// The number of the block in its file, from 0.
  package let index: Int
  /// The bytes to write after those of the previous block.
  package let bytes: [UInt8]
  /// How many bytes of the file are in the block.
  package let plainCount: Int
  /// gzip: the CRC-32 of the file's bytes; other formats have their checksums in `bytes`.
  var check: UInt32 = 0
  /// xz: the size of the block without its padding, which the index records.
  var unpaddedSize: UInt64 = 0
}
