import BatchEngine

/// Decodes compressed files of one format: any number of frames, as the stock tool accepts them.
///
/// One thread at a time uses it, and its memory is reused for the next file. The format's window and the options limit the
/// memory, never the file.
package final class StreamDecoder {
  /// The most bytes that ``decode(_:to:)`` passes on at once.
  static let pieceSize = 256 << 10
  /// The largest content that ``decode(wholeFile:to:)`` decodes in one piece.
  static let largestWhole = 4 << 20

  /// Receives pieces of content in order; each is only valid during the call.
  package typealias Sink = (UnsafeRawBufferPointer) throws(BatchError) -> Void

  package let format: CompressionFormat
  /// How many bytes of the compressed file were accepted so far.
  package private(set) var compressedCount: UInt64 = 0
  /// How many bytes of content were passed on so far.
  package private(set) var plainCount: UInt64 = 0
  /// How many frames, members or streams are complete; including skippable frames.
  package private(set) var frameCount = 0

  /// Why a finished frame could not be compared with a checksum; nil if all were, and after ``decode(wholeFile:to:)``, which
  /// does not check that.
  package private(set) var checkGap: CheckGap?

  private let decoder: any FrameDecoder
  private let options: DecoderOptions
  private let buffer: ScratchBuffer
  /// Whether damage must be confirmed by decoding the file again with the default library.
  package private(set) var isHasty = false
  /// How many bytes of content are skipped, because they were already passed on.
  private var repeated: UInt64 = 0
  private var isInside = false
  // The first bytes of a possible frame.
  private var start: [UInt8] = []
  private var zeroCount: UInt64 = 0

  init(_ format: CompressionFormat, _ decoder: any FrameDecoder, _ options: DecoderOptions) throws(BatchError)
  {
    self.format = format
    self.decoder = decoder
    self.options = options
    buffer = try ScratchBuffer(capacity: Self.pieceSize)
  }

  /// Resets the decoder; the next bytes begin another file.
  ///
  /// - Parameters:
  ///   - isHasty: whether a faster library may be used, which reports damage less precisely.
  ///   - count: how many bytes of content are skipped, because they were already passed on.
  package func reset(isHasty: Bool = false, leavingOut count: UInt64 = 0) {
    self.isHasty = decoder.hurry(isHasty)
    repeated = count
    compressedCount = 0
    plainCount = 0
    frameCount = 0
    checkGap = nil
    isInside = false
    start.removeAll(keepingCapacity: true)
    zeroCount = 0
  }

  /// Decodes a file that is completely in memory.
  package func decode(wholeFile: UnsafeRawBufferPointer, to sink: Sink) throws(DecodingError) {
    reset()
    if try decode(atOnce: wholeFile, to: sink) { return }
    try decode(wholeFile, to: sink)
    try finish()
  }

  /// Decodes a file that is completely in memory, from its beginning, if the library has a faster way for that; ``finish()``
  /// follows.
  ///
  /// - Returns: false when the file must be decoded in steps.
  func decode(atOnce file: UnsafeRawBufferPointer, to sink: Sink) throws(DecodingError) -> Bool {
    guard let content = try content(ofWhole: file) else { return false }
    do throws(BatchError) {
      if !content.isEmpty { try sink(content) }
    } catch {
      throw .failed(error)
    }
    return true
  }

  /// Decodes a whole file, and returns the content.
  ///
  /// - Returns: nil when the file must be decoded in steps. Valid until the next call.
  func content(ofWhole file: UnsafeRawBufferPointer) throws(DecodingError) -> UnsafeRawBufferPointer? {
    guard options.maximumOutput == nil,
      let count = decoder.decode(
        wholeFrame: file, room: { $0 <= Self.largestWhole && buffer.reserve($0) ? buffer.room : nil })
    else { return nil }
    compressedCount = UInt64(file.count)
    frameCount = 1
    try deliver(count) { _ in }
    return UnsafeRawBufferPointer(rebasing: buffer.room[..<count])
  }

  /// Decodes a frame that is completely in memory and whose content fits into `room`, if the library has a faster way for that;
  /// only ``checkGap`` is recorded.
  ///
  /// - Returns: how many bytes of content are in `room`; nil when the frame must be decoded in steps, which also report damage.
  func decode(wholeFrame: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Int? {
    let count = decoder.decode(wholeFrame: wholeFrame, room: { $0 <= room.count ? room : nil })
    if count != nil { checkGap = decoder.checkGap }
    return count
  }

  /// Decodes the next bytes of a file.
  ///
  /// - Throws: the damage as soon as it is detected; content before it was already passed on.
  package func decode(_ input: UnsafeRawBufferPointer, to sink: Sink) throws(DecodingError) {
    var rest = input
    while !rest.isEmpty {
      if isInside {
        rest = try advance(rest, to: sink)
      } else {
        try lookForFrame(UInt8(rest[0]), to: sink)
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
      }
    }
  }

  /// The outcome of one ``step(_:)``.
  struct Step {
    let consumed: Int
    /// Valid until the next call.
    let content: UnsafeRawBufferPointer
  }

  /// Decodes at most one piece, for a caller that requests content and has limited memory.
  ///
  /// - Returns: content, or that all of the input was taken, or both; no content with an empty input means
  ///   that more input is needed.
  /// - Throws: as ``decode(_:to:)``.
  func step(_ input: UnsafeRawBufferPointer) throws(DecodingError) -> Step {
    var rest = input
    while !isInside {
      guard let byte = rest.first else { return Step(consumed: input.count, content: rest) }
      // The bytes that identify a frame have no content.
      try lookForFrame(byte) { _ in }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<Self.pieceSize])
    let step = try run { () throws(FrameFailure) in try decoder.step(rest, into: room) }
    if step.consumed == 0, step.produced == 0, !step.isEnd, !rest.isEmpty { throw damaged(.corrupt) }
    compressedCount += UInt64(step.consumed)
    let skipped = Int(min(repeated, UInt64(step.produced)))
    try deliver(step.produced) { _ in }
    if step.isEnd { endFrame() }
    return Step(
      consumed: input.count - rest.count + step.consumed,
      content: UnsafeRawBufferPointer(rebasing: room[skipped..<step.produced]))
  }

  /// Whether zeros follow the last frame.
  var hasPadding: Bool { zeroCount > 0 }

  /// Ends the file.
  ///
  /// - Throws: the damage of a truncated file.
  package func finish() throws(DecodingError) {
    if isInside, decoder.mayEnd { endFrame() }
    guard !isInside, start.isEmpty, frameCount > 0 else { throw damaged(.truncated) }
    if decoder.padding == .fours, !zeroCount.isMultiple(of: 4) { throw damaged(.garbageAfterEnd) }
  }

  private func endFrame() {
    isInside = false
    frameCount += 1
    checkGap = checkGap ?? decoder.checkGap
  }

  private func lookForFrame(_ byte: UInt8, to sink: Sink) throws(DecodingError) {
    if byte == 0, start.isEmpty, frameCount > 0, decoder.padding != .none {
      zeroCount += 1
      return
    }
    start.append(byte)
    let isBehindPadding =
      switch decoder.padding {
      case .none: true
      case .untilEnd: zeroCount == 0
      case .fours: zeroCount.isMultiple(of: 4)
      }
    let isExpected = isBehindPadding && (frameCount == 0 || !decoder.isAlone)
    guard isExpected, decoder.canStart(with: start) else {
      guard frameCount > 0 else { throw damaged(.notCompressed) }
      if isBehindPadding, start.count < decoder.shortestGarbage { return }
      throw damaged(.garbageAfterEnd)
    }
    guard start.count == decoder.startLength else { return }
    compressedCount += zeroCount
    zeroCount = 0
    try run { () throws(FrameFailure) in try decoder.begin() }
    isInside = true
    let bytes = start
    start.removeAll(keepingCapacity: true)
    // A closure of withUnsafeBytes cannot throw two error types, so the few bytes are copied.
    try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 1) { copy throws(DecodingError) in
      copy.copyBytes(from: bytes)
      _ = try advance(UnsafeRawBufferPointer(copy), to: sink)
    }
  }

  /// Continues a frame, to its end or the end of the input.
  ///
  /// - Returns: the input after it.
  private func advance(
    _ input: UnsafeRawBufferPointer, to sink: Sink
  ) throws(DecodingError) -> UnsafeRawBufferPointer {
    var rest = input
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<Self.pieceSize])
    while true {
      let step: FrameStep
      do throws(FrameFailure) {
        step = try decoder.step(rest, into: room)
      } catch {
        if case .corruptAfter(let count) = error { try deliver(count, to: sink) }
        throw decodingError(of: error)
      }
      if step.consumed == 0, step.produced == 0, !step.isEnd, !rest.isEmpty { throw damaged(.corrupt) }
      compressedCount += UInt64(step.consumed)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
      try deliver(step.produced, to: sink)
      if step.isEnd {
        endFrame()
        return rest
      }
      // A full buffer may leave content inside the decoder.
      if rest.isEmpty, step.produced < room.count { return rest }
    }
  }

  private func deliver(_ count: Int, to sink: Sink) throws(DecodingError) {
    guard count > 0 else { return }
    if let maximum = options.maximumOutput, UInt64(count) > maximum - min(maximum, plainCount) {
      throw damaged(.tooLarge)
    }
    let skipped = Int(min(repeated, UInt64(count)))
    repeated -= UInt64(skipped)
    do throws(BatchError) {
      if skipped < count { try sink(UnsafeRawBufferPointer(rebasing: buffer.room[skipped..<count])) }
    } catch {
      throw .failed(error)
    }
    plainCount += UInt64(count)
  }

  private func run<Result>(_ body: () throws(FrameFailure) -> Result) throws(DecodingError) -> Result {
    do throws(FrameFailure) {
      return try body()
    } catch {
      throw decodingError(of: error)
    }
  }

  private func decodingError(of failure: FrameFailure) -> DecodingError {
    switch failure {
    case .checksum: damaged(.checksum)
    case .corrupt, .corruptAfter: damaged(.corrupt)
    case .failed(let error): .failed(error)
    }
  }

  private func damaged(_ kind: CompressionDamage.Kind) -> DecodingError {
    .damaged(CompressionDamage(kind, offset: compressedCount, goodBytes: plainCount))
  }
}

extension CompressionFormat {
  /// A decoder for one thread.
  ///
  /// - Throws: `.exhausted` when memory is missing.
  package func makeDecoder(
    _ options: DecoderOptions = DecoderOptions(), by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    try StreamDecoder(self, codec.makeDecoder(options), options)
  }

  /// A decoder for one part of a file, for one thread: decode the part's bytes, then call ``StreamDecoder/finish()``.
  ///
  /// Its content belongs at the part's offset; if its size differs from ``CompressedPart/plain``, the part is damaged.
  /// - Throws: `.exhausted` when memory is missing.
  package func makeDecoder(
    of part: CompressedPart, _ options: DecoderOptions = DecoderOptions(), by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    try StreamDecoder(self, codec.makeDecoder(of: part, options), options)
  }
}
