import BatchEngine

/// Computes the digest of a sparse file from its data; holes are hashed as zeros.
final class SparseDigest {
  /// Hashing more zeros than these would take seconds to days: such files get no digest.
  private static let mostZeros: UInt64 = 4 << 30

  private let digest: DigestStream
  private let size: UInt64
  private let isComputed: Bool
  private var ranges: ArraySlice<Range<UInt64>>
  /// The offset up to which the file is hashed.
  private var position: UInt64 = 0
  private let blocks: BlockHashes?

  /// - Parameters:
  ///   - digest: in use from the first call until ``finish()``; afterwards free for other files.
  ///   - map: nil for a file without holes.
  ///   - blocks: receives all bytes too, also those of a file that gets no digest.
  init(_ digest: DigestStream, map: [Range<UInt64>]?, size: UInt64, blocks: BlockHashes? = nil) {
    self.blocks = blocks
    self.digest = digest
    self.size = size
    ranges = (map ?? [0..<size])[...]
    let data = ranges.reduce(UInt64(0)) { $0 + ($1.upperBound - $1.lowerBound) }
    isComputed = size - min(size, data) <= Self.mostZeros
    digest.reset()
  }

  /// Adds the next data, which continues where the last piece ended.
  func update(_ bytes: UnsafeRawBufferPointer) throws(BatchError) {
    guard isComputed || blocks != nil else { return }
    var rest = bytes
    while !rest.isEmpty, let range = ranges.first {
      try addZeros(upTo: range.lowerBound)
      let left = range.upperBound - max(position, range.lowerBound)
      let count = Int(min(UInt64(rest.count), left))
      let piece = UnsafeRawBufferPointer(rebasing: rest[..<count])
      if isComputed { try digest.update(piece) }
      blocks?.update(piece)
      position += UInt64(count)
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      if position >= range.upperBound { ranges.removeFirst() }
    }
  }

  /// The digest of the file; nil if it has more holes than are hashed.
  func finish() throws(BatchError) -> Digest? {
    try addZeros(upTo: size)
    return isComputed ? try digest.finish() : nil
  }

  private func addZeros(upTo end: UInt64) throws(BatchError) {
    guard position < end else { return }
    blocks?.addZeros(end - position)
    defer { position = end }
    guard isComputed else { return }
    try SparseReading.hand(zeros: end - position) { (zeros) throws(BatchError) in try digest.update(zeros) }
  }
}
