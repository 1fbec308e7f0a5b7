import BatchEngine

/// The offsets of the chunks in an age file: 64 KiB each, the last one shorter, each followed by a tag.
struct PayloadLayout: Sendable, Hashable {
  static let chunkSize = 64 << 10
  static let sealedSize = chunkSize + Primitives.tagSize
  static let nonceSize = 16

  /// The offset of the first chunk in the file.
  let start: UInt64
  /// The size after decryption.
  let size: UInt64
  let chunkCount: UInt64

  /// - Parameters:
  ///   - start: the offset of the first chunk, after header and nonce.
  ///   - end: the size of the file.
  /// - Throws: `malformed` for an impossible length.
  init(start: UInt64, end: UInt64) throws(BatchError) {
    guard start < end, end <= UInt64(Int64.max) else { throw Self.cutOff }
    let (whole, rest) = (end - start).quotientAndRemainder(dividingBy: UInt64(Self.sealedSize))
    // Only an empty file has an empty chunk.
    guard rest == 0 || rest > UInt64(Primitives.tagSize) || (whole == 0 && rest == UInt64(Primitives.tagSize))
    else { throw Self.cutOff }
    self.start = start
    chunkCount = whole + (rest == 0 ? 0 : 1)
    size = end - start - chunkCount * UInt64(Primitives.tagSize)
  }

  static let cutOff = AgeDamage.payload("the encrypted file is cut off, or has bytes after its end")

  /// The offset of a chunk in the file.
  func sealedStart(of chunk: UInt64) -> UInt64 { start + chunk * UInt64(Self.sealedSize) }

  func plainStart(of chunk: UInt64) -> UInt64 { chunk * UInt64(Self.chunkSize) }

  func plainSize(of chunk: UInt64) -> Int { Int(min(UInt64(Self.chunkSize), size - plainStart(of: chunk))) }

  func nonce(of chunk: UInt64) -> ChunkNonce { ChunkNonce(number: chunk, isLast: chunk == chunkCount - 1) }
}

/// The key of the chunks of one file.
struct PayloadKey: Sendable {
  let secret: SecretBytes

  init(_ fileKey: SecretBytes, nonce: [UInt8]) throws(BatchError) {
    secret = try Primitives.derive(fileKey, salt: nonce, info: "payload")
  }
}
