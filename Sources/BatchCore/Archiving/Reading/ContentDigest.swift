import BatchEngine

/// Computes the digest of content that comes in pieces with holes between them.
struct ContentDigest: ~Copyable {
  /// Holes are hashed up to this file size; a larger one is a forged header.
  private static let largest: UInt64 = 1 << 44

  private let digests: DigestStream
  private let cancellation: Cancellation
  private let ahead: DigestsAhead?
  private let count = Counter()

  private final class Counter {
    /// The bytes added so far, holes included.
    var value: UInt64 = 0
    /// The digest of the first piece, if it was computed in advance: then the piece is the whole content.
    var known: Digest?
  }

  /// - Parameter ahead: digests of some whole contents, computed in advance.
  init(_ digests: DigestStream, ahead: DigestsAhead? = nil, cancellation: Cancellation) {
    self.digests = digests
    self.ahead = ahead
    self.cancellation = cancellation
    digests.reset()
  }

  func add(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    guard count.known == nil else { throw Self.tooMuch }
    if offset == 0, count.value == 0, let ahead, let digest = try ahead.digest(of: piece) {
      count.known = digest
      count.value = UInt64(piece.count)
      return
    }
    try addZeros(upTo: offset)
    try digests.update(piece)
    count.value += UInt64(piece.count)
  }

  /// - Throws: `malformed` when there was more content than the size.
  func finish(size: UInt64) throws(BatchError) -> Digest {
    guard count.value <= size else { throw Self.tooMuch }
    if let known = count.known {
      guard count.value == size else {
        throw BatchError(.malformed, "damaged: there is less content than its size says")
      }
      return known
    }
    try addZeros(upTo: size)
    return try digests.finish()
  }

  private static let tooMuch = BatchError(
    .malformed, "damaged: there is more content than its size says")

  private func addZeros(upTo offset: UInt64) throws(BatchError) {
    guard offset <= Self.largest else {
      throw BatchError(.malformed, "damaged: no file is as large")
    }
    guard count.value < offset else { return }
    try SparseReading.hand(zeros: offset - count.value) { (zeros) throws(BatchError) in
      try cancellation.check()
      try digests.update(zeros)
    }
    count.value = offset
  }
}
