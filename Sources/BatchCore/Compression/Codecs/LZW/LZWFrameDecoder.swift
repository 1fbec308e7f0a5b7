import BatchEngine

/// Files of compress(1): codes of 9 to 16 bits, as ncompress and `gzip -d` read them.
///
/// libarchive's filter for them pulls its input, but a ``FrameDecoder`` gets its input piece by piece. The format has no
/// checksum and no end mark: the bits left at the end of the file must be zeros and fewer than one code.
final class LZWFrameDecoder: FrameDecoder {
  let startLength = 2
  let padding = FramePadding.none
  let isAlone = true
  let checkGap: CheckGap? = .noChecksum
  static let magic: [UInt8] = [0x1F, 0x9D]

  private static let clearCode = 256
  private static let codeCount = 1 << 16

  /// The string of a code is that of its prefix, followed by its suffix.
  private let prefixes = UnsafeMutablePointer<UInt16>.allocate(capacity: LZWFrameDecoder.codeCount)
  private let suffixes = UnsafeMutablePointer<UInt8>.allocate(capacity: LZWFrameDecoder.codeCount)
  /// The string of the last code at the end of the buffer, as far as it was not returned yet.
  private let string = UnsafeMutablePointer<UInt8>.allocate(capacity: LZWFrameDecoder.codeCount + 1)
  private var stringStart = LZWFrameDecoder.codeCount + 1

  /// The remaining bytes of the magic number and the flags.
  private var headerLeft = 3
  private var largestWidth = 16
  private var hasClearCode = true

  private var bits: UInt32 = 0
  private var bitCount = 0
  private var width = 9
  /// The number of codes with the current width, modulo 8: the width changes only after a group of 8.
  private var codesInGroup = 0
  private var bytesToSkip = 0

  private var nextFree = 257
  private var last = -1
  private var firstByte: UInt8 = 0

  init() {
    prefixes.initialize(repeating: 0, count: Self.codeCount)
    suffixes.initialize(repeating: 0, count: Self.codeCount)
    string.initialize(repeating: 0, count: Self.codeCount + 1)
    for byte in 0..<256 { suffixes[byte] = UInt8(byte) }
  }

  deinit {
    prefixes.deallocate()
    suffixes.deallocate()
    string.deallocate()
  }

  func canStart(with bytes: [UInt8]) -> Bool { Self.magic.starts(with: bytes) }

  var mayEnd: Bool { headerLeft == 0 && stringStart > Self.codeCount && bits == 0 }

  func begin() {
    stringStart = Self.codeCount + 1
    headerLeft = 3
    bits = 0
    bitCount = 0
    width = 9
    codesInGroup = 0
    bytesToSkip = 0
    last = -1
    firstByte = 0
  }

  /// Whether the byte after the magic number is valid: it contains the largest width of codes, and whether there is a code that
  /// clears the table.
  static func isFlags(_ byte: UInt8) -> Bool { byte & 0x60 == 0 && (9...16).contains(byte & 0x1F) }

  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep {
    var step = FrameStep()
    while headerLeft > 0 {
      guard step.consumed < input.count else { return step }
      if headerLeft == 1 { try takeFlags(input[step.consumed]) }
      step.consumed += 1
      headerLeft -= 1
    }
    while true {
      let end = Self.codeCount + 1
      let count = min(end - stringStart, output.count - step.produced)
      if count > 0 {
        UnsafeMutableRawBufferPointer(rebasing: output[step.produced...])
          .copyMemory(from: UnsafeRawBufferPointer(start: string + stringStart, count: count))
        stringStart += count
        step.produced += count
      }
      guard stringStart == end else { return step }
      // The 9-bit group ends even if no wider code is allowed, as in ncompress and gzip.
      if nextFree >= 1 << width, width < largestWidth || width == 9 { endGroup(nextWidth: width + 1) }
      let skipped = min(bytesToSkip, input.count - step.consumed)
      bytesToSkip -= skipped
      step.consumed += skipped
      while bitCount < width {
        guard step.consumed < input.count else { return step }
        bits |= UInt32(input[step.consumed]) << UInt32(bitCount)
        bitCount += 8
        step.consumed += 1
      }
      let code = Int(bits & (1 << UInt32(width) - 1))
      bits >>= UInt32(width)
      bitCount -= width
      codesInGroup = (codesInGroup + 1) & 7
      try take(code)
    }
  }

  private func takeFlags(_ flags: UInt8) throws(FrameFailure) {
    guard Self.isFlags(flags) else { throw .corrupt }
    largestWidth = Int(flags & 0x1F)
    hasClearCode = flags & 0x80 != 0
    nextFree = hasClearCode ? 257 : 256
  }

  /// Skips the rest of a group of 8 codes, including the remaining bits of the current byte.
  private func endGroup(nextWidth: Int) {
    let left = (8 - codesInGroup) & 7
    bytesToSkip = (left * width - bitCount) / 8
    bits = 0
    bitCount = 0
    codesInGroup = 0
    width = nextWidth
  }

  /// Writes the string of a code into the buffer, and adds the resulting string to the table.
  private func take(_ code: Int) throws(FrameFailure) {
    if code == Self.clearCode, hasClearCode, last >= 0 {
      // The next code creates an entry for the clear code, to which nothing refers.
      nextFree = Self.clearCode
      endGroup(nextWidth: 9)
      return
    }
    guard last >= 0 else {
      guard code < 256 else { throw .corrupt }
      firstByte = UInt8(code)
      last = code
      stringStart -= 1
      string[stringStart] = firstByte
      return
    }
    var rest = code
    if code >= nextFree {
      // The string of this new code is the previous string plus its own first byte.
      guard code == nextFree else { throw .corrupt }
      stringStart -= 1
      string[stringStart] = firstByte
      rest = last
    }
    while rest >= 256 {
      guard stringStart > 1 else { throw .corrupt }
      stringStart -= 1
      string[stringStart] = suffixes[rest]
      rest = Int(prefixes[rest])
    }
    firstByte = UInt8(rest)
    stringStart -= 1
    string[stringStart] = firstByte
    if nextFree < 1 << largestWidth {
      prefixes[nextFree] = UInt16(last)
      suffixes[nextFree] = firstByte
      nextFree += 1
    }
    last = code
  }
}

/// Files of compress(1).
enum LZWCodec: CodecDescriptor {
  static let toolName = "compress"
  static let title = "compress(1)"
  static let tarSuffixes = ["taZ"]

  /// A file without content ends with the flags.
  static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
    start.count >= 3 && start.starts(with: LZWFrameDecoder.magic) && LZWFrameDecoder.isFlags(start[2])
  }

  static func makeDecoder(_ options: DecoderOptions) -> any FrameDecoder { LZWFrameDecoder() }
  static func checksFact(start: UnsafeRawBufferPointer) -> String { "compress(1) data has no checksums" }
}
