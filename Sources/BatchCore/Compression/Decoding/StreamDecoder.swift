import BatchEngine

/// Decodes compressed files of one format: any number of frames, as the stock tool takes them.
///
/// One thread at a time uses it, and its memory serves file after file. Memory is bounded by the format's
/// window and the options, never by the file.
package final class StreamDecoder {
  /// What is handed out at once by ``decode(_:to:)``, at most.
  static let pieceSize = 256 << 10
  /// The largest content that ``decode(wholeFile:to:)`` makes in one piece.
  static let largestWhole = 4 << 20

  /// Takes pieces of content in order; each is only valid during the call.
  package typealias Sink = (UnsafeRawBufferPointer) throws(BatchError) -> Void

  package let format: CompressionFormat
  /// How many bytes of the compressed file were accepted so far.
  package private(set) var compressedCount: UInt64 = 0
  /// How many bytes of content were handed out so far.
  package private(set) var plainCount: UInt64 = 0
  /// How many frames, members or streams are complete; skippable frames among them.
  package private(set) var frameCount = 0

  /// Why a frame that ended so far could not be compared with a check; nil where all were, and behind
  /// ``decode(wholeFile:to:)``, which does not look at it.
  package private(set) var checkGap: CheckGap?

  private let decoder: any FrameDecoder
  private let options: DecoderOptions
  private let buffer: ScratchBuffer
  /// Whether what is found of damage has to be confirmed by decoding the file again without haste.
  package private(set) var isHasty = false
  /// How many bytes of content are left out, since they were handed out before.
  private var repeated: UInt64 = 0
  private var isInside = false
  // The first bytes of what may become a frame.
  private var start: [UInt8] = []
  private var zeroCount: UInt64 = 0

  init(_ format: CompressionFormat, _ decoder: any FrameDecoder, _ options: DecoderOptions) throws(BatchError)
  {
    self.format = format
    self.decoder = decoder
    self.options = options
    buffer = try ScratchBuffer(capacity: Self.pieceSize)
  }

  /// Forgets the file that was decoded; the next bytes begin another one.
  ///
  /// - Parameters:
  ///   - isHasty: whether a faster library may be used, whose word on damage is not exact.
  ///   - count: how many bytes of content are not handed out, since they were before.
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

  /// Decodes a file that is in memory as a whole.
  package func decode(wholeFile: UnsafeRawBufferPointer, to sink: Sink) throws(DecodingError) {
    reset()
    if try decode(atOnce: wholeFile, to: sink) { return }
    try decode(wholeFile, to: sink)
    try finish()
  }

  /// Decodes a file that is in memory as a whole and of which nothing was decoded, where the library has a faster way for
  /// that; ``finish()`` follows.
  ///
  /// - Returns: false when the file has to go by steps.
  func decode(atOnce file: UnsafeRawBufferPointer, to sink: Sink) throws(DecodingError) -> Bool {
    guard let content = try content(ofWhole: file) else { return false }
    do throws(BatchError) {
      if !content.isEmpty { try sink(content) }
    } catch {
      throw .failed(error)
    }
    return true
  }

  /// The same for those who ask for content.
  ///
  /// - Returns: nil when the file has to go by steps. Valid until the next call.
  func content(ofWhole file: UnsafeRawBufferPointer) throws(DecodingError) -> UnsafeRawBufferPointer? {
    guard options.maximumOutput == nil,
      let count = decoder.decode(wholeFile: file, into: buffer, largest: Self.largestWhole)
    else { return nil }
    compressedCount = UInt64(file.count)
    frameCount = 1
    try deliver(count) { _ in }
    return UnsafeRawBufferPointer(rebasing: buffer.room[..<count])
  }

  /// Decodes a frame that is in memory as a whole, where the library has a faster way for that.
  ///
  /// - Returns: how many bytes of content are in the buffer now; nil when the frame has to be decoded in steps, which also
  ///   reports damage.
  func decode(wholeFrame: UnsafeRawBufferPointer, into buffer: ScratchBuffer, largest: Int) -> Int? {
    decoder.decode(wholeFile: wholeFrame, into: buffer, largest: largest)
  }

  /// The same for a frame whose content fits in `room`; nothing but ``checkGap`` is noted of it.
  ///
  /// - Returns: how many bytes of content are in the room now; nil as above.
  func decode(wholeFrame: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Int? {
    let count = decoder.decode(wholeFrame: wholeFrame, into: room)
    if count != nil { checkGap = decoder.checkGap }
    return count
  }

  /// Decodes the next bytes of a file.
  ///
  /// - Throws: the damage as soon as it is seen; content before it has been handed out.
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
    /// How many bytes of the input were taken.
    let consumed: Int
    /// Valid until the next call.
    let content: UnsafeRawBufferPointer
  }

  /// Decodes as much as one piece holds: for those who ask for content and cannot be handed more than they
  /// have room for.
  ///
  /// - Returns: content, or that all of the input was taken, or both; no content with an empty input means
  ///   that more input is needed.
  /// - Throws: as ``decode(_:to:)``.
  func step(_ input: UnsafeRawBufferPointer) throws(DecodingError) -> Step {
    var rest = input
    while !isInside {
      guard let byte = rest.first else { return Step(consumed: input.count, content: rest) }
      // The few bytes that identify a frame have no content.
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

  /// Whether zeros stand behind the last frame.
  var hasPadding: Bool { zeroCount > 0 }

  /// Takes note that the file has no more bytes.
  ///
  /// - Throws: what is missing.
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
    // A closure of withUnsafeBytes cannot throw two types: the copy of a few bytes has a place of its own.
    try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 1) { copy throws(DecodingError) in
      copy.copyBytes(from: bytes)
      _ = try advance(UnsafeRawBufferPointer(copy), to: sink)
    }
  }

  /// Goes on in a frame, to its end or that of the input.
  ///
  /// - Returns: the input behind it.
  private func advance(
    _ input: UnsafeRawBufferPointer, to sink: Sink
  ) throws(DecodingError) -> UnsafeRawBufferPointer {
    var rest = input
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<Self.pieceSize])
    while true {
      let step = try run { () throws(FrameFailure) in try decoder.step(rest, into: room) }
      if step.consumed == 0, step.produced == 0, !step.isEnd, !rest.isEmpty { throw damaged(.corrupt) }
      compressedCount += UInt64(step.consumed)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(step.consumed))
      try deliver(step.produced, to: sink)
      if step.isEnd {
        endFrame()
        return rest
      }
      // Full room may leave content inside the decoder.
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
      switch error {
      case .checksum: throw damaged(.checksum)
      case .corrupt: throw damaged(.corrupt)
      case .failed(let error): throw .failed(error)
      }
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

  /// A decoder for one part of a file, for one thread: it is fed the part's bytes, and then asked to finish.
  ///
  /// What it hands out belongs at the part's place in the content; when that is more or less than
  /// ``CompressedPart/plain`` says, the part is damaged.
  /// - Throws: `.exhausted` when memory is missing.
  package func makeDecoder(
    of part: CompressedPart, _ options: DecoderOptions = DecoderOptions(), by right: ReadingRight
  ) throws(BatchError) -> StreamDecoder {
    try StreamDecoder(self, codec.makeDecoder(of: part, options), options)
  }
}
