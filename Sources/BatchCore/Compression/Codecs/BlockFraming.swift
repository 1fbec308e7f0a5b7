import BatchEngine

/// The bytes that a format adds around the blocks of one file.
protocol BlockFraming {
  mutating func header() throws(BatchError) -> [UInt8]
  mutating func append(_ block: CompressedBlock) throws(BatchError)
  /// - Parameter plainCount: the total bytes of content of all blocks.
  mutating func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8]
  /// A change of the header after all blocks are known; nil if the header is complete from the start.
  var patch: HeaderPatch? { get }
}

extension BlockFraming {
  var patch: HeaderPatch? { nil }
}

/// Bytes that replace others in the file.
struct HeaderPatch {
  let offset: UInt64
  let bytes: [UInt8]
}

/// The first five bytes of a frame of zstd or lz4, in which the magic number is followed by the flags.
struct FrameStart {
  private var magic: UInt32 = 0
  private var count = 0
  private var flags: UInt8?

  mutating func pass(_ bytes: UnsafeRawBufferPointer) {
    guard flags == nil else { return }
    for byte in bytes {
      guard count < 4 else {
        flags = byte
        return
      }
      magic |= UInt32(byte) << (8 * count)
      count += 1
    }
  }

  /// The flags of a frame with this magic number; nil for another frame, such as a skippable one.
  func flags(of magic: UInt32) -> UInt8? { self.magic == magic ? flags : nil }
}

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
