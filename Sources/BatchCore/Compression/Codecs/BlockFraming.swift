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
