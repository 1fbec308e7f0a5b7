import BatchEngine
import CDeflate
import CZlib

/// Decodes gzip members with zlib or ISA-L, and single members in memory with libdeflate.
///
/// zlib reads each header, because it checks all of it. ISA-L decodes the content, if requested.
final class GzipFrameDecoder: FrameDecoder {
  // Only the magic number: another method than deflate is an error of the member, as in gzip.
  let startLength = 2
  // gzip needs two bytes: a single one counts as the start of a truncated member.
  let shortestGarbage = 2
  let padding = FramePadding.untilEnd
  /// The CRC-32 and the length.
  private static let trailerSize = 8
  // zlib's state contains a pointer to the stream, which therefore must not move.
  private let stream: UnsafeMutablePointer<z_stream>
  private let whole: OpaquePointer
  private var isHasty = false
  /// Nil if the library is missing, and before it is requested.
  private var fast: InflateStream?
  /// The next part of the member, if ISA-L decodes the content.
  private var part = Part.header
  private var check: UInt32 = 0
  private var plainCount: UInt32 = 0
  /// Whether zlib reads the member too. ISA-L accepts incomplete codes, which zlib refuses. The CRC-32 shows wrong content, but
  /// not that of an empty member, so zlib reads until there is content.
  private var isFollowed = false
  /// The bytes of the CRC-32 and the length read so far.
  private var trailer: [UInt8] = []

  private enum Part {
    case header, content, trailer
  }

  init() throws(BatchError) {
    guard let whole = libdeflate_alloc_decompressor() else { throw .noCodecMemory }
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    self.whole = whole
    // The largest window, and only the gzip format.
    let result = inflateInit2_(
      stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard result == Z_OK else { throw .noCodecMemory }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    libdeflate_free_decompressor(whole)
  }

  func canStart(with bytes: [UInt8]) -> Bool {
    ([0x1F, 0x8B] as [UInt8]).starts(with: bytes)
  }

  func begin() {
    inflateReset(stream)
    part = .header
  }

  func hurry(_ isHasty: Bool) -> Bool {
    if isHasty, fast == nil { fast = (try? InflateLibrary.shared.result().get()).map(InflateStream.init) }
    self.isHasty = isHasty && fast != nil
    return self.isHasty
  }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    guard isHasty, let fast else { return try step(input, into: output, upTo: Z_NO_FLUSH) }
    var step = FrameStep()
    if part == .header {
      // zlib returns before the first block.
      step = try self.step(input, into: output, upTo: Z_BLOCK)
      guard stream.pointee.data_type & 128 != 0 else { return step }
      fast.begin()
      (part, check, plainCount, isFollowed) = (.content, 0, 0, true)
      trailer.removeAll(keepingCapacity: true)
    }
    if part == .content {
      let rest = UnsafeRawBufferPointer(rebasing: input.dropFirst(step.consumed))
      let piece = fast.step(rest, into: output)
      step.consumed += piece.consumed
      step.produced = piece.produced
      check = fast.library.check(
        UnsafeRawBufferPointer(rebasing: output[..<piece.produced]), after: check)
      plainCount &+= UInt32(truncatingIfNeeded: piece.produced)
      if piece.isCorrupt { throw .corrupt }
      isFollowed = isFollowed && piece.produced == 0
      if isFollowed, piece.consumed > 0 {
        let same = UnsafeRawBufferPointer(rebasing: rest.prefix(piece.consumed))
        isFollowed = try self.step(same, into: output, upTo: Z_NO_FLUSH).produced == 0
      }
      guard fast.isFinished else { return step }
      part = .trailer
      trailer += fast.takeRest()
    }
    let missing = input.dropFirst(step.consumed).prefix(Self.trailerSize - trailer.count)
    trailer += missing
    step.consumed += missing.count
    guard trailer.count >= Self.trailerSize else { return step }
    var expected: [UInt8] = []
    expected.appendLittleEndian(check)
    expected.appendLittleEndian(plainCount)
    guard trailer == expected else { throw .checksum }
    step.isEnd = true
    return step
  }

  /// Decodes with zlib.
  private func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, upTo flush: Int32
  ) throws(FrameFailure) -> FrameStep {
    let inputSize = UInt32(clamping: input.count)
    let outputSize = UInt32(clamping: output.count)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bytes)
    stream.pointee.avail_in = inputSize
    stream.pointee.next_out = output.bytes
    stream.pointee.avail_out = outputSize
    let result = inflate(stream, flush)
    switch result {
    // No progress is not an error: the input may be used up.
    case Z_OK, Z_STREAM_END, Z_BUF_ERROR: break
    case Z_MEM_ERROR: throw .failed(.noCodecMemory)
    case Z_DATA_ERROR where isCheckError: throw .checksum
    default: throw .corrupt
    }
    return FrameStep(
      consumed: Int(inputSize - stream.pointee.avail_in),
      produced: Int(outputSize - stream.pointee.avail_out), isEnd: result == Z_STREAM_END)
  }

  func decode(wholeFrame: UnsafeRawBufferPointer, room: (Int) -> UnsafeMutableRawBufferPointer?) -> Int? {
    // libdeflate ignores the CRC-16 of a header, which this flag announces.
    guard wholeFrame.count >= 18, wholeFrame[3] & 2 == 0 else { return nil }
    let size = Int(wholeFrame.little(at: wholeFrame.count - Self.trailerSize / 2) as UInt32)
    // DEFLATE expands one byte to at most 1,032; a larger length is not that of a valid file.
    guard size / 1032 <= wholeFrame.count, let room = room(size) else { return nil }
    var consumed = 0
    var produced = 0
    let result = libdeflate_gzip_decompress_ex(
      whole, wholeFrame.baseAddress, wholeFrame.count, room.baseAddress, size, &consumed, &produced)
    return result == LIBDEFLATE_SUCCESS && consumed == wholeFrame.count ? produced : nil
  }

  /// Whether the data could be decoded but its CRC-32 or length is wrong. zlib reports this only by its message.
  private var isCheckError: Bool {
    guard let message = stream.pointee.msg else { return false }
    let text = String(cString: message)
    return text == "incorrect data check" || text == "incorrect length check"
  }
}
