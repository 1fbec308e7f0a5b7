import BatchEngine

/// What a format puts around the blocks of one file.
protocol BlockFraming {
  mutating func header() throws(BatchError) -> [UInt8]
  mutating func append(_ block: CompressedBlock) throws(BatchError)
  /// - Parameter plainCount: how many bytes all blocks hold.
  mutating func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8]
  /// What the header says when all blocks are known; nil where it says it from the start.
  var patch: HeaderPatch? { get }
}

extension BlockFraming {
  var patch: HeaderPatch? { nil }
}

/// Bytes that take the place of others in the file.
struct HeaderPatch {
  let offset: UInt64
  let bytes: [UInt8]
}
