import BatchEngine

/// What a lane needs to compress: a codec, a digest, and two buffers that keep their room.
final class CompressBench {
  /// Files from this size on are read in pieces, between which a run can be stopped.
  private static let largestPiece = 8 << 20

  let codec: any CodecContext
  let digest: DigestStream
  let decoder: StreamDecoder
  var content: [UInt8] = []
  var output: [UInt8] = []
  /// Those of the source.
  var attributes: [ExtendedAttribute] = []
  /// Of the last source and its output; not kept open from chunk to chunk.
  var place: OutputPlace?

  init(
    _ format: CompressionFormat, level: Int, checking check: @escaping () throws(BatchError) -> Void
  ) throws(BatchError) {
    codec = try format.makeContext(level: level, checking: check)
    decoder = try format.makeDecoder()
    digest = try DigestStream(.xxh128)
  }

  /// Reads a file, again where the policies say so: ``content`` and ``attributes`` are its own then.
  ///
  /// - Returns: nil when it is not to be used; the reason has been reported.
  func read(_ record: FileRecord, in context: ChunkContext) throws(BatchError) -> ReadOutcome? {
    var outcome: ReadOutcome?
    var pieces: [UInt8] = []
    let size = Int(clamping: max(0, record.status.size))
    let isOnePiece = size < Self.largestPiece
    if !isOnePiece { pieces.reserveCapacity(size) }
    content.removeAll(keepingCapacity: isOnePiece)
    // One byte more, by which the end is told.
    let capacity = isOnePiece ? size + 1 : 1
    try content.append(upTo: capacity) { base throws(BatchError) in
      let room = UnsafeMutableRawBufferPointer(start: base, count: capacity)
      var count = 0
      outcome = try context.read(record, isCounted: false, into: room) {
        (file: borrowing Descriptor, _) throws(BatchError) in
        attributes = AttributeReader.attributes(of: file.raw)
        pieces.removeAll(keepingCapacity: true)
      } consume: { piece in
        if piece.baseAddress == UnsafeRawPointer(base) { count = piece.count } else { pieces += piece }
      }
      return count
    }
    if !pieces.isEmpty { content = pieces }
    return outcome
  }
}
