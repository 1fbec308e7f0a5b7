import Glibc

/// The reading end of the pipe to which a child writes one of its streams. Only the thread of the runner uses it.
final class ChildStream {
  /// What is left in a pipe after it was read.
  enum Rest {
    /// There may be more to read at once.
    case more
    case nothing
    /// All processes have closed the other end.
    case end
  }

  /// How many buffers are read from one pipe before others get their turn.
  private static let mostReads = 8

  private var descriptor: Descriptor?
  private let output: CapturedOutput
  private var lines: ErrorLines?

  /// - Parameter lines: receives the lines as they come; then the output gets only the end.
  init(_ descriptor: consuming Descriptor, into output: CapturedOutput, lines: ErrorLines? = nil) {
    self.descriptor = consume descriptor
    self.output = output
    self.lines = lines
  }

  var isOpen: Bool { descriptor != nil }
  var raw: Int32 { descriptor?.raw ?? -1 }

  func read(with buffer: UnsafeMutableRawBufferPointer) -> Rest {
    guard isOpen else { return .end }
    for _ in 0..<Self.mostReads {
      let count = retrying { Glibc.read(raw, buffer.baseAddress, buffer.count) }
      if count == -Int(EAGAIN) { return .nothing }
      // A pipe has no other errors; after one, nothing more could be read.
      guard count > 0 else { return .end }
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      if lines == nil { output.append(bytes) } else { lines?.add(bytes) }
    }
    return .more
  }

  /// Closes the pipe, and passes on what is left of a line.
  func close() {
    descriptor = nil
    lines?.end(into: output)
    lines = nil
  }
}

/// Collects what a child writes into whole lines, and passes them on.
struct ErrorLines {
  /// A longer line is passed on in parts.
  private static let longest = 1 << 20
  /// How much of the end is kept.
  private static let mostKept = 4 << 10
  private static let newline = UInt8(ascii: "\n")

  private let pass: @Sendable ([UInt8]) -> Void
  private var begun: [UInt8] = []
  private var last: [UInt8] = []

  init(_ pass: @escaping @Sendable ([UInt8]) -> Void) {
    self.pass = pass
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let newline = bytes.lastIndex(of: Self.newline) else {
      begun += bytes
      if begun.count > Self.longest { flush() }
      return
    }
    deliver(begun + bytes[...newline])
    begun = Array(bytes[(newline + 1)...])
  }

  /// Passes on a line without an end, and keeps the end of all lines.
  mutating func end(into output: CapturedOutput) {
    flush()
    last.withUnsafeBytes { output.append($0) }
  }

  private mutating func flush() {
    if !begun.isEmpty { deliver(begun + [Self.newline]) }
    begun = []
  }

  private mutating func deliver(_ lines: [UInt8]) {
    pass(lines)
    last =
      lines.count >= Self.mostKept ? Array(lines.suffix(Self.mostKept)) : (last + lines).suffix(Self.mostKept)
  }
}
