import BatchEngine

/// What a format puts around the blocks of one file.
protocol BlockFraming {
  mutating func header() throws(BatchError) -> [UInt8]
  mutating func append(_ block: CompressedBlock) throws(BatchError)
  /// - Parameter plainCount: how many bytes all blocks hold.
  mutating func trailer(plainCount: UInt64) throws(BatchError) -> [UInt8]
}
