import BatchEngine

/// The bytes of an index as one sequence, read from the archive on demand.
struct IndexExtent: Sendable {
  private enum Piece {
    case memory(ArraySlice<UInt8>)
    case file(ArchiveFile, Range<UInt64>)

    var count: UInt64 {
      switch self {
      case .memory(let bytes): UInt64(bytes.count)
      case .file(_, let range): range.upperBound - range.lowerBound
      }
    }
  }

  /// How many bytes are hashed at a time.
  private static let step: UInt64 = 1 << 20

  private let pieces: [Piece]
  private let ends: [UInt64]

  var count: UInt64 { ends.last ?? 0 }

  /// Bytes that had to be decoded or combined.
  init(_ bytes: ArraySlice<UInt8>) {
    self.init(pieces: [.memory(bytes)])
  }

  init(_ bytes: [UInt8]) {
    self.init(bytes[...])
  }

  init(_ pieces: [[UInt8]]) {
    self.init(pieces: pieces.map { .memory($0[...]) })
  }

  /// - Parameter ranges: ranges of the archive, within its size.
  init(of file: ArchiveFile, _ ranges: [Range<UInt64>]) {
    self.init(pieces: ranges.map { .file(file, $0) })
  }

  private init(pieces: [Piece]) {
    self.pieces = pieces
    var end: UInt64 = 0
    ends = pieces.map {
      end += $0.count
      return end
    }
  }

  /// - Throws: `malformed` for a range beyond the end; the error of reading.
  func bytes(_ range: Range<UInt64>) throws(BatchError) -> [UInt8] {
    guard range.upperBound <= count else { throw BatchError(.malformed, "truncated") }
    var bytes: [UInt8] = []
    for number in pieces.indices[firstPiece(endingAfter: range.lowerBound)...] {
      let start = ends[number] - pieces[number].count
      guard start < range.upperBound else { break }
      let wanted = range.clamped(to: start..<ends[number])
      let offset = wanted.lowerBound - start
      let length = Int(wanted.upperBound - wanted.lowerBound)
      switch pieces[number] {
      case .memory(let memory): bytes += memory.dropFirst(Int(offset)).prefix(length)
      case .file(let file, let place):
        let read = try file.bytes(at: place.lowerBound + offset, count: length)
        bytes = bytes.isEmpty ? read : bytes + read
      }
    }
    return bytes
  }

  /// A part of the extent with its digest; kept in memory if it is not larger than the limit.
  func part(
    _ range: Range<UInt64>, _ digest: DigestStream, inMemoryUpTo limit: UInt64
  ) throws(BatchError) -> IndexPart {
    if range.upperBound - range.lowerBound <= limit {
      let bytes = try bytes(range)
      try withBytes(of: bytes) { (raw) throws(BatchError) in try digest.update(raw) }
      return IndexPart(extent: IndexExtent(bytes), start: 0)
    }
    var position = range.lowerBound
    while position < range.upperBound {
      let end = position + min(Self.step, range.upperBound - position)
      let bytes = try bytes(position..<end)
      try withBytes(of: bytes) { (raw) throws(BatchError) in try digest.update(raw) }
      position = end
    }
    return IndexPart(extent: self, start: range.lowerBound)
  }

  private func firstPiece(endingAfter place: UInt64) -> Int {
    var range = ends.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = ends[middle] > place ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
    }
    return range.lowerBound
  }
}

/// A part of an extent, with offsets from 0.
struct IndexPart: Sendable {
  let extent: IndexExtent
  let start: UInt64

  /// - Parameter range: within the part; the caller has checked that.
  func bytes(_ range: Range<UInt64>) throws(BatchError) -> [UInt8] {
    try extent.bytes((start + range.lowerBound)..<(start + range.upperBound))
  }
}
