import BatchEngine

/// Decodes single frames (members, streams, blocks) of one format; ``StreamDecoder`` handles the bytes between them.
protocol FrameDecoder: AnyObject {
  /// How many bytes are needed to see whether a frame begins.
  var startLength: Int { get }

  /// How many bytes after a frame are needed to call them garbage; with fewer, the file counts as truncated.
  var shortestGarbage: Int { get }

  /// Which zero bytes may be between frames.
  var padding: FramePadding { get }

  /// Whether a frame may begin with these bytes, ``startLength`` of them or fewer.
  func canStart(with bytes: [UInt8]) -> Bool

  /// Whether nothing may follow a frame, not even another one.
  var isAlone: Bool { get }

  /// Why the decoded frame could not be compared with a checksum; nil if it was compared.
  var checkGap: CheckGap? { get }

  /// Whether a frame without an end mark may end at the end of the input.
  var mayEnd: Bool { get }

  /// Resets the decoder for the first byte of a frame.
  func begin() throws(FrameFailure)

  /// Allows or forbids a faster library for the next file, which reports damage less precisely.
  ///
  /// - Returns: whether it is used.
  func hurry(_ isHasty: Bool) -> Bool

  /// Decodes as much as the input and the output buffer allow.
  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep

  /// Decodes one frame that is completely in memory, if that is faster than in steps.
  ///
  /// - Parameter room: provides memory for a number of bytes; nil if they are too many.
  /// - Returns: how many bytes of content are in the memory; nil if the frame must be decoded in steps, which also report
  ///   damage.
  func decode(wholeFrame: UnsafeRawBufferPointer, room: (Int) -> UnsafeMutableRawBufferPointer?) -> Int?
}

extension FrameDecoder {
  var shortestGarbage: Int { 1 }
  var isAlone: Bool { false }
  var checkGap: CheckGap? { nil }
  var mayEnd: Bool { false }

  func hurry(_ isHasty: Bool) -> Bool { false }
  func decode(wholeFrame: UnsafeRawBufferPointer, room: (Int) -> UnsafeMutableRawBufferPointer?) -> Int? {
    nil
  }
}

/// The result of one step of a ``FrameDecoder``.
struct FrameStep {
  var consumed = 0
  var produced = 0
  /// Whether the frame is complete and its checksums are correct.
  var isEnd = false
}

/// Zero bytes after a frame.
enum FramePadding {
  case none
  /// Any number, up to the end of the file: gzip accepts them because of tapes.
  case untilEnd
  /// Multiples of four, also between streams.
  case fours
}

/// Why a ``FrameDecoder`` cannot continue.
enum FrameFailure: Error {
  case checksum
  case corrupt
  /// Corrupt, with this many bytes of content in the output before that.
  case corruptAfter(Int)
  case failed(BatchError)
}
