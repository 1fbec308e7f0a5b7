import BatchEngine
import CDeflate
import CZlib

/// gzip members by zlib or by ISA-L, and single members that are in memory by libdeflate.
///
/// zlib reads each header, since it compares all of it. ISA-L makes the content, where that is asked for.
final class GzipFrameDecoder: FrameDecoder {
  // The magic number alone: a method that is not deflate is an error of a member, as gzip has it.
  let startLength = 2
  // gzip judges two bytes: a single one is the beginning of something that ends early.
  let shortestGarbage = 2
  let padding = FramePadding.untilEnd
  /// The CRC-32 and the length.
  private static let trailerSize = 8
  // zlib's state points back at the stream, which therefore must stay in its place.
  private let stream: UnsafeMutablePointer<z_stream>
  private let whole: OpaquePointer
  private var isHasty = false
  /// Nil where the library is not there, and before it is asked for.
  private var fast: InflateStream?
  /// What of the member comes next, where ISA-L makes the content.
  private var part = Part.header
  private var check: UInt32 = 0
  private var plainCount: UInt32 = 0
  /// As much of the CRC-32 and the length as there was.
  private var trailer: [UInt8] = []

  private enum Part {
    case header, content, trailer
  }

  init() throws(BatchError) {
    guard let whole = libdeflate_alloc_decompressor() else { throw .noCodecMemory }
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    self.whole = whole
    // The largest window, and nothing but gzip.
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
      (part, check, plainCount) = (.content, 0, 0)
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

  /// Lets zlib decode.
  private func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, upTo flush: Int32
  ) throws(FrameFailure) -> FrameStep {
    let inputSize = UInt32(clamping: input.count)
    let outputSize = UInt32(clamping: output.count)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bytes)
    stream.pointee.avail_in = inputSize
    stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = outputSize
    let result = inflate(stream, flush)
    switch result {
    // No progress is no error: the input may be used up.
    case Z_OK, Z_STREAM_END, Z_BUF_ERROR: break
    case Z_MEM_ERROR: throw .failed(.noCodecMemory)
    case Z_DATA_ERROR where isCheckError: throw .checksum
    default: throw .corrupt
    }
    return FrameStep(
      consumed: Int(inputSize - stream.pointee.avail_in),
      produced: Int(outputSize - stream.pointee.avail_out), isEnd: result == Z_STREAM_END)
  }

  func decode(wholeFile: UnsafeRawBufferPointer, into buffer: ScratchBuffer, largest: Int) -> Int? {
    // libdeflate passes over the CRC-16 of a header, which this flag announces.
    guard wholeFile.count >= 18, wholeFile[3] & 2 == 0 else { return nil }
    let size = Int(
      wholeFile.loadUnaligned(fromByteOffset: wholeFile.count - Self.trailerSize / 2, as: UInt32.self)
        .littleEndian)
    // DEFLATE makes at most 1,032 bytes of one; a larger length belongs to something else.
    guard size <= largest, size / 1032 <= wholeFile.count, buffer.reserve(size) else {
      return nil
    }
    var consumed = 0
    var produced = 0
    let result = libdeflate_gzip_decompress_ex(
      whole, wholeFile.baseAddress, wholeFile.count, buffer.room.baseAddress, size, &consumed, &produced)
    return result == LIBDEFLATE_SUCCESS && consumed == wholeFile.count ? produced : nil
  }

  /// Whether the data could be decoded but its CRC-32 or length is wrong. zlib reports this only by its message.
  private var isCheckError: Bool {
    guard let message = stream.pointee.msg else { return false }
    let text = String(cString: message)
    return text == "incorrect data check" || text == "incorrect length check"
  }
}
