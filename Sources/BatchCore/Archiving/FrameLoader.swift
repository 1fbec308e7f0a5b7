/// Reads and decodes the frames of an archive that has an index, on one lane.
final class FrameLoader {
  /// More content than a frame of ours ever has; the index is not believed beyond it.
  private static let largestFrame: UInt64 = 256 << 20
  /// What a damaged frame is fed by, so that little is lost before the damage.
  private static let slice = 4 << 10
  private static let checksumSize = 4
  private static let otherSize = BatchError(.malformed, "a frame has another size than the index says")

  private let file: ArchiveFile
  /// Nil where nothing is compressed.
  private let decoder: StreamDecoder?
  private let input: ScratchBuffer
  private let output: ScratchBuffer

  init(_ file: ArchiveFile, _ format: CompressionFormat?) throws(BatchError) {
    self.file = file
    decoder = try format?.makeDecoder()
    input = try ScratchBuffer(capacity: 1 << 20)
    output = try ScratchBuffer(capacity: 4 << 20)
  }

  /// The content of a frame, whose checks are right; valid until the next call.
  ///
  /// - Throws: `malformed` when it is damaged.
  func load(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    let compressed = try read(frame)
    guard let decoder else {
      guard frame.compressedSize == frame.plainSize else { throw Self.otherSize }
      return compressed
    }
    decoder.reset()
    var count = 0
    let damage = try FileDecoder.damage { () throws(DecodingError) in
      count = try decode(compressed, with: decoder, from: 0)
      try decoder.finish()
    }
    if let damage { throw BatchError(.malformed, damage.message) }
    guard UInt64(count) == frame.plainSize else { throw Self.otherSize }
    return UnsafeRawBufferPointer(rebasing: output.room[..<count])
  }

  /// What can be had of a damaged frame: content from its beginning on, which nothing vouches for.
  func salvage(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    let compressed = try read(frame)
    guard let decoder else { return compressed }
    decoder.reset()
    var count = 0
    // Content that came together with a wrong checksum would be lost with it.
    let body = UnsafeRawBufferPointer(rebasing: compressed.dropLast(Self.checksumSize))
    _ = try FileDecoder.damage { () throws(DecodingError) in
      var rest = body
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.slice))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        count = try decode(piece, with: decoder, from: count)
      }
    }
    return UnsafeRawBufferPointer(rebasing: output.room[..<Int(min(UInt64(count), frame.plainSize))])
  }

  private func read(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    // Nothing that is compressed gets larger than a little.
    guard frame.plainSize <= Self.largestFrame, frame.compressedSize <= Self.largestFrame * 2 else {
      throw BatchError(.malformed, "a frame of more than \(Self.largestFrame) bytes")
    }
    let size = Int(frame.compressedSize)
    guard input.reserve(size), output.reserve(Int(frame.plainSize)) else { throw .noCodecMemory }
    let room = UnsafeMutableRawBufferPointer(rebasing: input.room[..<size])
    guard try file.read(at: frame.compressed.lowerBound, into: room) == size else {
      throw BatchError(.malformed, "truncated")
    }
    return UnsafeRawBufferPointer(room)
  }

  /// - Returns: where the content ends in the output.
  private func decode(
    _ bytes: UnsafeRawBufferPointer, with decoder: StreamDecoder, from start: Int
  ) throws(DecodingError) -> Int {
    var count = start
    var rest = bytes
    while true {
      let step = try decoder.step(rest)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
      guard step.content.count <= output.room.count - count else {
        throw .failed(Self.otherSize)
      }
      UnsafeMutableRawBufferPointer(rebasing: output.room[count...]).copyMemory(from: step.content)
      count += step.content.count
      if rest.isEmpty, step.content.count < StreamDecoder.pieceSize { return count }
    }
  }
}
