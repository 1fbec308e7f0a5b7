import BatchEngine

/// The damage of a compressed file, and how much of it is good.
package struct CompressionDamage: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The file ends too early; also an empty file, because no format allows one.
    case truncated
    /// Everything could be decoded, but a checksum or a length differs.
    case checksum
    /// The bytes are not valid in the format.
    case corrupt
    /// All frames are good, but other bytes follow.
    case garbageAfterEnd
    /// The file does not begin like its format.
    case notCompressed
    /// The content has more bytes than ``DecoderOptions/maximumOutput`` allows.
    case tooLarge
  }

  package let kind: Kind
  /// How many bytes of the compressed file were accepted before the damage was detected.
  package let offset: UInt64
  /// How many bytes of content were passed on. After `garbageAfterEnd` they are complete and good; after other kinds the last
  /// of them may be wrong.
  package let goodBytes: UInt64

  package init(_ kind: Kind, offset: UInt64, goodBytes: UInt64) {
    self.kind = kind
    self.offset = offset
    self.goodBytes = goodBytes
  }

  /// For messages: the ratio of the content to the compressed bytes so far; empty up to 1.
  private var growth: String {
    let times = goodBytes / max(1, offset)
    return times > 1 ? ": \(times) times the size so far" : ""
  }

  /// Text for messages, after the name of the file.
  package var message: String {
    switch kind {
    case .truncated: "truncated: the file ends too early"
    case .checksum: "wrong checksum: the content is not what was compressed"
    case .corrupt: "corrupt compressed data"
    case .garbageAfterEnd: "garbage after the end of the compressed data, at byte \(offset)"
    case .notCompressed: "not in the compressed format that it should have"
    case .tooLarge: "larger than the limit when decompressed" + growth
    }
  }
}

/// Why decoding stopped.
package enum DecodingError: Error, Sendable, Hashable {
  /// The compressed file is damaged.
  case damaged(CompressionDamage)
  /// Another error: memory is missing, or the receiver of the content threw this.
  case failed(BatchError)
}
