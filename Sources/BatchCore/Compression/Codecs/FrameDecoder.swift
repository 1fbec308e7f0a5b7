import BatchEngine

/// The decoder of single frames (members, streams, blocks) of one format; ``StreamDecoder`` does what lies
/// between them.
protocol FrameDecoder: AnyObject {
  /// How many bytes say whether a frame begins.
  var startLength: Int { get }

  /// How many bytes behind a frame are judged to be garbage; where the file ends before, it counts as truncated.
  var shortestGarbage: Int { get }

  /// Which zero bytes may stand between frames.
  var padding: FramePadding { get }

  /// Whether a frame may begin with these bytes, ``startLength`` of them or fewer.
  func canStart(with bytes: [UInt8]) -> Bool

  /// Whether nothing may follow a frame, not even another one.
  var isAlone: Bool { get }

  /// Why the frame that was decoded could not be compared with a check; nil where it was.
  var checkGap: CheckGap? { get }

  /// Whether a frame without a mark of its end may end here, where the input does.
  var mayEnd: Bool { get }

  /// Prepares for the first byte of a frame, whatever was decoded before.
  func begin() throws(FrameFailure)

  /// Says whether a faster library may be used for the next file, whose word on damage is not exact.
  ///
  /// - Returns: whether it is used.
  func hurry(_ isHasty: Bool) -> Bool

  /// Decodes what there is input for and room for.
  func step(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(FrameFailure) -> FrameStep

  /// Decodes a file that is wholly in memory and one frame, when that is faster than by steps.
  ///
  /// - Parameter largest: files with more bytes of content are decoded in steps.
  /// - Returns: how many bytes of content are in the buffer now; nil when the file has to be decoded in steps, which also
  ///   reports damage.
  func decode(wholeFile: UnsafeRawBufferPointer, into buffer: ScratchBuffer, largest: Int) -> Int?

  /// Decodes one frame that is wholly in memory and whose content fits in `room`, when that takes less memory than
  /// by steps.
  ///
  /// - Returns: as ``decode(wholeFile:into:largest:)``.
  func decode(wholeFrame: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Int?
}

extension FrameDecoder {
  var shortestGarbage: Int { 1 }
  var isAlone: Bool { false }
  var checkGap: CheckGap? { nil }
  var mayEnd: Bool { false }

  func hurry(_ isHasty: Bool) -> Bool { false }
  func decode(wholeFile: UnsafeRawBufferPointer, into buffer: ScratchBuffer, largest: Int) -> Int? { nil }
  func decode(wholeFrame: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> Int? { nil }
}

/// What one step of a ``FrameDecoder`` did.
struct FrameStep {
  /// Bytes of input that were used up.
  var consumed = 0
  /// Bytes of output that were written.
  var produced = 0
  /// Whether the frame is complete and its checks are right.
  var isEnd = false
}

/// Zero bytes behind a frame.
enum FramePadding {
  case none
  /// As many as there are, and nothing behind them: what gzip takes from tapes.
  case untilEnd
  /// Multiples of four, also between streams.
  case fours
}

/// Why a ``FrameDecoder`` cannot go on.
enum FrameFailure: Error {
  case checksum
  case corrupt
  case failed(BatchError)
}
