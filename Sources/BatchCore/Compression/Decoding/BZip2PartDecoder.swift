import BatchEngine
import Synchronization

/// Decodes ranges of a .bz2 file, on several threads.
///
/// The marks in a range are searched, and its blocks are decoded as streams of their own by libbz2, which compares their CRC-32.
/// The thread that receives the contents in order compares where the blocks begin and end, the levels and the CRC-32 of the
/// streams with a ``BZip2Chain``. A range whose content would take too much memory is only checked, and decoded once more when it is its
/// turn, piece by piece.
final class BZip2PartDecoder: Sendable {
  /// The content for which memory is counted before a range is decoded.
  static let usualRatio: UInt64 = 4
  private static let rangeSize: UInt64 = 1 << 20
  private static let mostRanges: UInt64 = 1 << 16
  /// The most content of a range that is checked in advance.
  private static let mostContent = 1 << 30

  /// The result of one range.
  struct Findings: Sendable {
    var pieces: [BZip2Piece] = []
    /// The levels with which the pieces were decoded.
    var levels: [UInt8] = []
    /// Whether all blocks were decoded.
    var isWhole = false
    /// Whether the content is in memory.
    var isKept = false
  }

  private struct State {
    /// The digit of the header of the stream that was received last.
    var level: UInt8
    /// Bytes that were taken from the budget.
    var reserved = 0
  }

  private let size: UInt64
  private let fill: @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: UInt64) -> Bool
  private let budget: PartBudget
  private let width: Int
  private let state: Mutex<State>

  /// - Parameters:
  ///   - level: the digit of the header of the first stream.
  ///   - width: the number of lanes of the run.
  ///   - budget: from which memory for contents that are larger than usual is reserved, until the decoder ends.
  ///   - fill: reads the buffer from an offset; false if it cannot be filled.
  init(
    size: UInt64, level: UInt8, width: Int, budget: PartBudget,
    fill: @escaping @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: UInt64) -> Bool
  ) {
    self.size = size
    self.fill = fill
    self.budget = budget
    self.width = width
    state = Mutex(State(level: level))
  }

  deinit { budget.release(state.withLock(\.reserved)) }

  /// The ranges of a file; their contents have no known sizes.
  static func parts(size: UInt64, rangeSize: UInt64 = BZip2PartDecoder.rangeSize) -> CompressedParts? {
    // Bits are counted.
    guard size < UInt64.max >> 4 else { return nil }
    let step = max(rangeSize, size / mostRanges + 1)
    let starts = stride(from: 0, to: size, by: UInt64.Stride(clamping: step))
    return CompressedParts(
      parts: starts.map { start in
        let end = min(size, start + step)
        return CompressedPart(
          compressed: start..<end, plain: (usualRatio * start)..<(usualRatio * end))
      })
  }

  /// Decodes a range on any thread.
  ///
  /// - Returns: nil if its content is so large that only sequential decoding remains.
  func measure(
    _ part: CompressedPart, _ input: inout [UInt8], _ output: inout [UInt8]
  ) -> PartPipeline.Measure? {
    var findings = Findings()
    guard let found = BZip2Part(part.compressed, of: size, in: &input, fill: fill) else {
      return PartPipeline.Measure(count: 0, bzip2: findings)
    }
    findings.pieces = found.pieces
    findings.isKept = true
    var level = state.withLock { $0.level }
    var (count, total) = (0, 0)
    let usual = Int(clamping: Self.usualRatio * Self.rangeSize)
    if output.count < usual { output = [UInt8](unsafeUninitializedCapacity: usual) { $1 = usual } }
    for piece in found.pieces {
      level = piece.level ?? level
      findings.levels.append(level)
      guard case .blocks(let blocks) = piece else { continue }
      let stream = BZip2BlockStream(found.stream(of: blocks, level: level, in: input))
      while true {
        if count == output.count, !findings.isKept || !grow(&output) {
          findings.isKept = false
          count = 0
        }
        guard
          let step = output.withUnsafeMutableBytes({
            stream.step(UnsafeMutableRawBufferPointer(rebasing: $0[count...]))
          })
        else { return PartPipeline.Measure(count: 0, bzip2: findings) }
        count += step.produced
        total += step.produced
        guard total <= Self.mostContent else { return nil }
        if step.isEnd { break }
      }
    }
    findings.isWhole = true
    return PartPipeline.Measure(count: findings.isKept ? count : 0, bzip2: findings)
  }

  /// Doubles the buffer, which stays that large for other ranges.
  private func grow(_ output: inout [UInt8]) -> Bool {
    let (old, more) = (output, output.count)
    guard budget.reserve(more, concurrency: width) else { return false }
    state.withLock { $0.reserved += more }
    output = [UInt8](unsafeUninitializedCapacity: 2 * more) { room, count in
      _ = room.update(fromContentsOf: old)
      count = 2 * more
    }
    return true
  }

  /// Passes on the content of the next range.
  ///
  /// - Parameter check: called repeatedly while nothing is passed on; an error that it throws ends the call.
  /// - Returns: false if it does not follow the ranges before it or is damaged; nothing of it was passed on.
  func receive(
    _ content: PartPipeline.Content, of part: CompressedPart, chain: inout BZip2Chain,
    checking check: () throws(BatchError) -> Void,
    deliver: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    guard let findings = content.measure.bzip2 else { return false }
    var next = chain
    var isGood = findings.isWhole
    for (piece, level) in zip(findings.pieces, findings.levels) where isGood {
      isGood = next.accept(piece) && next.level == level
    }
    if isGood, findings.isKept {
      chain = next
      try withBytes(of: content.bytes) { (raw) throws(BatchError) in
        if content.measure.count > 0 {
          try deliver(UnsafeRawBufferPointer(rebasing: raw[..<content.measure.count]))
        }
      }
    } else {
      // Content of a damaged block depends on the bytes behind it, so it must not be passed on.
      next = chain
      if !isGood {
        guard try decode(part, &next, deliver: { _ throws(BatchError) in try check() }) else { return false }
      }
      guard try decode(part, &chain, deliver: deliver) else { return false }
    }
    state.withLock { [level = chain.level] in $0.level = level }
    return true
  }

  private func decode(
    _ part: CompressedPart, _ chain: inout BZip2Chain,
    deliver: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> Bool {
    var input: [UInt8] = []
    guard let found = BZip2Part(part.compressed, of: size, in: &input, fill: fill) else { return false }
    let buffer = try ScratchBuffer(capacity: StreamDecoder.pieceSize)
    for piece in found.pieces {
      guard chain.accept(piece) else { return false }
      guard case .blocks(let blocks) = piece else { continue }
      let stream = BZip2BlockStream(found.stream(of: blocks, level: chain.level, in: input))
      while true {
        guard let step = stream.step(buffer.room) else { return false }
        try deliver(UnsafeRawBufferPointer(rebasing: buffer.room[..<step.produced]))
        if step.isEnd { break }
      }
    }
    return true
  }
}

/// Decodes blocks that were cut out as a stream.
private final class BZip2BlockStream {
  private let decoder = BZip2FrameDecoder()
  private let stream: [UInt8]
  private var consumed = 0
  private var hasBegun = false

  init(_ stream: [UInt8]) { self.stream = stream }

  /// - Returns: nil if the stream is damaged, does not end with its last byte, or memory is missing.
  func step(_ room: UnsafeMutableRawBufferPointer) -> FrameStep? {
    do {
      if !hasBegun { try decoder.begin() }
      hasBegun = true
      let step = try stream.withUnsafeBytes {
        try decoder.step(UnsafeRawBufferPointer(rebasing: $0[consumed...]), into: room)
      }
      consumed += step.consumed
      guard step.isEnd ? consumed == stream.count : step.consumed > 0 || step.produced > 0 else { return nil }
      return step
    } catch {
      return nil
    }
  }
}
