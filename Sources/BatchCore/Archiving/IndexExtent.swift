/// The bytes of an index, in the order in which they belong together; read from the archive as they are asked for.
struct IndexExtent {
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

  private let pieces: [Piece]
  let count: UInt64

  /// Those that had to be decoded, or put together.
  init(_ bytes: [UInt8]) {
    self.init(pieces: [.memory(bytes[...])])
  }

  /// - Parameter ranges: of the archive, within its size.
  init(of file: ArchiveFile, _ ranges: [Range<UInt64>]) {
    self.init(pieces: ranges.map { .file(file, $0) })
  }

  private init(pieces: [Piece]) {
    self.pieces = pieces
    count = pieces.reduce(0) { $0 + $1.count }
  }

  /// - Throws: `malformed` for a range beyond the end; the error of reading.
  func bytes(_ range: Range<UInt64>) throws(BatchError) -> [UInt8] {
    guard range.upperBound <= count else { throw BatchError(.malformed, "truncated") }
    var bytes: [UInt8] = []
    var start: UInt64 = 0
    for piece in pieces {
      let end = start + piece.count
      defer { start = end }
      let wanted = range.clamped(to: start..<end)
      guard !wanted.isEmpty else { continue }
      let offset = wanted.lowerBound - start
      let length = Int(wanted.upperBound - wanted.lowerBound)
      switch piece {
      case .memory(let memory): bytes += memory.dropFirst(Int(offset)).prefix(length)
      case .file(let file, let place):
        let read = try file.bytes(at: place.lowerBound + offset, count: length)
        bytes = bytes.isEmpty ? read : bytes + read
      }
    }
    return bytes
  }
}
