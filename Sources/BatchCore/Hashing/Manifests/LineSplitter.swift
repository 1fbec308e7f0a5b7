import BatchEngine
import func Glibc.memchr

/// Cuts a stream of bytes into lines, in bounded memory.
struct LineSplitter: Sendable {
  enum Line: Sendable {
    case line
    /// The line is longer than the limit; it was skipped to its end.
    case tooLong
    case end
  }

  private let terminator: UInt8
  private let limit: Int
  private var chunk = [UInt8](repeating: 0, count: 1 << 16)
  private var unread = 0..<0
  private var isAtEnd = false

  /// - Parameter limit: the longest line, in bytes without its terminator.
  init(terminator: UInt8, limit: Int) {
    self.terminator = terminator
    self.limit = limit
  }

  /// Appends the next line to `line`, without its terminator; the last line may have none.
  ///
  /// - Parameter read: like read(2): fills the buffer from its start, returns the count, 0 at the end.
  mutating func append(
    to line: inout [UInt8], _ read: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) -> Line {
    var isTooLong = false
    var isStarted = false
    while true {
      if unread.isEmpty {
        guard try fill(read) else { break }
      }
      isStarted = true
      let end = endOfLine()
      if !isTooLong {
        isTooLong = line.count + ((end ?? unread.upperBound) - unread.lowerBound) > limit
        if !isTooLong { line += chunk[unread.lowerBound..<(end ?? unread.upperBound)] }
      }
      unread = (end.map { $0 + 1 } ?? unread.upperBound)..<unread.upperBound
      if end != nil { return isTooLong ? .tooLong : .line }
    }
    guard isStarted else { return .end }
    return isTooLong ? .tooLong : .line
  }

  private mutating func fill(
    _ read: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) -> Bool {
    guard !isAtEnd else { return false }
    let outcome: Result<Int, BatchError> = chunk.withUnsafeMutableBytes { buffer in
      do throws(BatchError) {
        return .success(try read(buffer))
      } catch {
        return .failure(error)
      }
    }
    let count = min(max(0, try outcome.get()), chunk.count)
    isAtEnd = count == 0
    unread = 0..<count
    return !isAtEnd
  }

  private func endOfLine() -> Int? {
    chunk.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress,
        let found = memchr(base + unread.lowerBound, Int32(terminator), unread.count)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
  }
}
