import BatchEngine

/// One block of a file, compressed, and what a ``BlockJoiner`` has to know about it.
package struct CompressedBlock: Sendable {
  /// The number of the block in its file, from 0.
  package let index: Int
  /// To be written as they are, behind those of the block before.
  package let bytes: [UInt8]
  /// How many bytes of the file the block holds.
  package let plainCount: Int
  /// gzip: the CRC-32 of the file's bytes; others keep their checks inside `bytes`.
  var check: UInt32 = 0
  /// xz: the size of the block without its padding, which the index records.
  var unpaddedSize: UInt64 = 0
}
