import BatchEngine

/// Why decoding stopped.
package enum DecodingError: Error, Sendable, Hashable {
  /// The compressed file is at fault.
  case damaged(CompressionDamage)
  /// Something else is: memory is missing, or the taker of the content threw this.
  case failed(BatchError)
}
