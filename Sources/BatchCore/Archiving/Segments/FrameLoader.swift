import BatchEngine

/// Reads and decodes the frames of an archive that has an index, on one lane.
final class FrameLoader {
  /// More content than our frames ever have; an index with larger frames is not trusted.
  private static let largestFrame: UInt64 = 256 << 20
  /// The piece size for decoding a damaged frame: small, so that little is lost before the damage.
  private static let slice = 256

  let right: ReadingRight
  private let file: ArchiveFile
  /// Nil if nothing is compressed.
  private let decoder: StreamDecoder?
  private let input: ScratchBuffer
  private let output: ScratchBuffer
  private var altered: [MemberIndex.Frame] = []

  /// - Parameter former: a loader of the same run that is not used any more: its memory and its decoder are taken over.
  init(
    _ file: ArchiveFile, _ format: CompressionFormat?, after former: FrameLoader? = nil,
    by right: ReadingRight
  ) throws(BatchError) {
    self.right = right
    self.file = file
    if let known = former?.decoder, known.format == format {
      known.reset()
      decoder = known
    } else {
      decoder = try format?.makeDecoder(file.decoding, by: right)
    }
    if let former {
      (input, output) = (former.input, former.output)
    } else {
      input = try ScratchBuffer(capacity: 1 << 20)
      output = try ScratchBuffer(capacity: 4 << 20)
    }
  }

  /// The content of a frame, after its checksums were compared; valid until the next call.
  ///
  /// - Throws: `malformed` when it is damaged.
  func load(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    let bytes = try read(frame)
    let isAsWritten = frame.check.map { $0 == ArchiveFrame.check(of: bytes) } ?? true
    guard let decoder else {
      guard isAsWritten else { throw BatchError(.malformed, "wrong checksum") }
      guard frame.plainSize == frame.compressedSize else { throw Self.hasOtherSize }
      return bytes
    }
    var count = 0
    let room = UnsafeMutableRawBufferPointer(rebasing: output.room[..<Int(frame.plainSize)])
    if let whole = decoder.decode(wholeFrame: bytes, into: room) {
      count = whole
    } else {
      decoder.reset()
      do throws(BatchError) {
        let damage = try FileDecoder.damage { () throws(DecodingError) in
          count = try decode(bytes, from: 0, decoder)
          try decoder.finish()
        }
        if let damage { throw BatchError(.malformed, damage.message) }
        // After a gzip member, other readers treat zeros as the end of the file.
        if decoder.format == .gz, decoder.hasPadding {
          throw BatchError(.malformed, "zeros after a gzip member")
        }
      } catch {
        // An unavailable window, dictionary or filter: our frames need none, so it comes from damage.
        throw isAsWritten ? error : BatchError(.malformed, error.message)
      }
    }
    guard UInt64(count) == frame.plainSize else { throw Self.hasOtherSize }
    // The content is correct, but bytes that the format does not check have changed.
    if !isAsWritten { altered.append(frame) }
    return UnsafeRawBufferPointer(rebasing: output.room[..<count])
  }

  /// The frames loaded since the last call whose bytes have changed but whose content is correct.
  func takeAltered() -> [MemberIndex.Frame] {
    defer { altered = [] }
    return altered
  }

  /// The content of a damaged frame from its beginning to the damage, without a check.
  func salvage(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    let bytes = try read(frame)
    guard let decoder else { return bytes }
    decoder.reset()
    var count = 0
    // The checksum at the end is left out: if it is wrong, the decoder would drop the last content.
    let body = UnsafeRawBufferPointer(rebasing: bytes.dropLast(decoder.format.codec.trailerSize(of: bytes)))
    var rest = body
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.slice))
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
      guard let end = try? decode(piece, from: count, decoder) else { break }
      count = end
    }
    return UnsafeRawBufferPointer(rebasing: output.room[..<Int(min(UInt64(count), frame.plainSize))])
  }

  private static let hasOtherSize = BatchError(.malformed, "the size of a frame differs from the index")

  private func read(_ frame: MemberIndex.Frame) throws(BatchError) -> UnsafeRawBufferPointer {
    // Compression makes content at most slightly larger.
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

  /// - Returns: the end of the content in the output.
  private func decode(
    _ bytes: UnsafeRawBufferPointer, from start: Int, _ decoder: StreamDecoder
  ) throws(DecodingError) -> Int {
    var count = start
    var rest = bytes
    while true {
      let step = try decoder.step(rest)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
      guard step.content.count <= output.room.count - count else {
        throw .failed(Self.hasOtherSize)
      }
      UnsafeMutableRawBufferPointer(rebasing: output.room[count...]).copyMemory(from: step.content)
      count += step.content.count
      if rest.isEmpty, step.content.count < StreamDecoder.pieceSize { return count }
    }
  }
}
