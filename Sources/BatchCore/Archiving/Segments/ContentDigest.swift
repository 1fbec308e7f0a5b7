import BatchEngine

/// Computes the digest of content that comes in pieces with holes between them.
final class ContentDigest {
  /// Holes are hashed up to this file size; a larger one is a forged header.
  private static let largest: UInt64 = 1 << 44

  private let digests: DigestStream
  private let cancellation: Cancellation
  private let ahead: DigestsAhead?
  /// The bytes added so far, holes included.
  private var count: UInt64 = 0
  /// The digest of the first piece, if it was computed in advance: then the piece is the whole content.
  private var known: Digest?
  /// The digest in a manifest.
  private let expected: Digest?

  /// - Parameters:
  ///   - ahead: digests of some whole contents, computed in advance.
  ///   - expected: what ``check(size:)`` compares with.
  init(
    _ digests: DigestStream, ahead: DigestsAhead? = nil, expecting expected: Digest? = nil,
    cancellation: Cancellation
  ) {
    self.digests = digests
    self.ahead = ahead
    self.expected = expected
    self.cancellation = cancellation
    digests.reset()
  }

  func add(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    guard known == nil else { throw Self.tooMuch }
    if offset == 0, count == 0, let ahead, let digest = try ahead.digest(of: piece) {
      known = digest
      count = UInt64(piece.count)
      return
    }
    try addZeros(upTo: offset)
    try digests.update(piece)
    count += UInt64(piece.count)
  }

  /// - Throws: `malformed` when there was more content than the size.
  func finish(size: UInt64) throws(BatchError) -> Digest {
    guard count <= size else { throw Self.tooMuch }
    if let known {
      guard count == size else {
        throw BatchError(.malformed, "damaged: there is less content than its size says")
      }
      return known
    }
    try addZeros(upTo: size)
    return try digests.finish()
  }

  /// - Throws: `malformed` when the digest is not the expected one.
  func check(size: UInt64) throws(BatchError) {
    guard try finish(size: size) == expected else {
      throw BatchError(.malformed, "not restored: its SHA-256 differs from the manifest")
    }
  }

  private static let tooMuch = BatchError(
    .malformed, "damaged: there is more content than its size says")

  private func addZeros(upTo offset: UInt64) throws(BatchError) {
    guard offset <= Self.largest else {
      throw BatchError(.malformed, "damaged: no file is as large")
    }
    guard count < offset else { return }
    try SparseReading.hand(zeros: offset - count) { (zeros) throws(BatchError) in
      try cancellation.check()
      try digests.update(zeros)
    }
    count = offset
  }
}

extension MemberReader {
  /// Reads the content of the last member, and adds it to a digest, if there is one.
  ///
  /// - Parameter note: called with the size of each piece before it is added.
  /// - Returns: the offset at which the content ends.
  @discardableResult
  func readContent(
    into digest: ContentDigest?, _ note: (Int) throws(BatchError) -> Void
  ) throws(BatchError) -> UInt64 {
    var end: UInt64 = 0
    try readContent { (piece, offset) throws(BatchError) in
      try note(piece.count)
      try digest?.add(piece, at: offset)
      end = offset + UInt64(piece.count)
    }
    return end
  }
}
