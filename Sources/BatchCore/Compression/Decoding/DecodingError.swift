import BatchEngine

/// Why decoding stopped.
package enum DecodingError: Error, Sendable, Hashable {
  /// The compressed file is damaged.
  case damaged(CompressionDamage)
  /// Another error: memory is missing, or the receiver of the content threw this.
  case failed(BatchError)
}
