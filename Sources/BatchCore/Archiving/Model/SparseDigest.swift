import BatchEngine

/// The digest of a sparse file from its data alone: holes count as the zeros that they read as.
final class SparseDigest {
  /// Zeros of more bytes than these would be hashed for seconds, up to days: such files get no digest.
  private static let mostZeros: UInt64 = 4 << 30

  private let digest: DigestStream
  private let size: UInt64
  private let isComputed: Bool
  private var ranges: ArraySlice<Range<UInt64>>
  /// How far the digest has come in the file.
  private var position: UInt64 = 0

  /// - Parameters:
  ///   - digest: used from the first call on, and ready for others after ``finish()``.
  ///   - map: nil for a file without holes.
  init(_ digest: DigestStream, map: [Range<UInt64>]?, size: UInt64) {
    self.digest = digest
    self.size = size
    ranges = (map ?? [0..<size])[...]
    let data = ranges.reduce(UInt64(0)) { $0 + ($1.upperBound - $1.lowerBound) }
    isComputed = size - min(size, data) <= Self.mostZeros
    digest.reset()
  }

  /// Takes the next data, which goes on where the last piece ended.
  func update(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    guard isComputed else { return }
    var rest = bytes
    while !rest.isEmpty, let range = ranges.first {
      try addZeros(upTo: range.lowerBound)
      let left = range.upperBound - max(position, range.lowerBound)
      let count = Int(min(UInt64(rest.count), left))
      try digest.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
      position += UInt64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if position >= range.upperBound { ranges.removeFirst() }
    }
  }

  /// The digest of the file; nil when it has more holes than are hashed.
  func finish() throws(BatchError) -> Digest? {
    guard isComputed else { return nil }
    try addZeros(upTo: size)
    return try digest.finish()
  }

  private func addZeros(upTo end: UInt64) throws(BatchError) {
    guard position < end else { return }
    try SparseReading.hand(zeros: end - position) { (zeros) throws(BatchError) in try digest.update(zeros) }
    position = end
  }
}
