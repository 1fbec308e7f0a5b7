import BatchEngine

/// What is wrong with a compressed file, and how far it was right.
package struct CompressionDamage: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The file ends where more must come; an empty file too, since no format has one.
    case truncated
    /// Everything could be decoded, and is not what was compressed: a check or a length differs.
    case checksum
    /// The bytes are not what the format allows.
    case corrupt
    /// All frames are good, and something else follows.
    case garbageAfterEnd
    /// The file does not begin as its format does.
    case notCompressed
    /// The content has more bytes than ``DecoderOptions/maximumOutput`` allows.
    case tooLarge
  }

  package let kind: Kind
  /// How many bytes of the compressed file were accepted before the damage was seen.
  package let offset: UInt64
  /// How many bytes of content were handed out. After `garbageAfterEnd` they are all there are and good;
  /// after other kinds the last of them may be wrong.
  package let goodBytes: UInt64

  package init(_ kind: Kind, offset: UInt64, goodBytes: UInt64) {
    self.kind = kind
    self.offset = offset
    self.goodBytes = goodBytes
  }

  /// For messages: how many times as large the content is as the compressed bytes before it; empty up to 1.
  private var growth: String {
    let times = goodBytes / max(1, offset)
    return times > 1 ? ": \(times) times the size so far" : ""
  }

  /// The kind for people, to follow the name of the file.
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
