import BatchEngine
import BatchOutputs

/// Where the one output of a call goes.
package enum CallOutput: Sendable {
  case none
  case stream(any ResultStream)
  case file(File)

  /// A file that appears when it is complete.
  package struct File: Sendable {
    package let path: PathBytes
    package let isReplacing: Bool
    package let isSynced: Bool
    /// Changes what is written to a terminal.
    package var terminalFilter: (@Sendable ([UInt8]) -> [UInt8])?

    package init(_ path: PathBytes, isReplacing: Bool, isSynced: Bool) {
      (self.path, self.isReplacing, self.isSynced) = (path, isReplacing, isSynced)
    }
  }

  /// The path of the file; nil for other outputs.
  package var path: PathBytes? {
    if case .file(let file) = self { file.path } else { nil }
  }

  func open(in run: RunContext) throws(BatchError) -> Opened {
    switch self {
    case .none: Opened()
    case .stream(let stream): Opened(stream: stream)
    case .file(let file):
      try Opened(
        replaced: StandardStreams.identity(of: file.path),
        file: OutputFile(
          file.path, isReplacing: file.isReplacing, isSynced: file.isSynced, in: run,
          terminalFilter: file.terminalFilter))
    }
  }

  /// An output that is written.
  struct Opened: Sendable {
    /// The file that the output replaces.
    var replaced: FileIdentity?
    var file: OutputFile?
    private let other: (any ResultStream)?

    init(replaced: FileIdentity? = nil, file: OutputFile? = nil, stream: (any ResultStream)? = nil) {
      (self.replaced, self.file, other) = (replaced, file, stream)
    }

    /// Nil if nothing is written.
    var stream: (any ResultStream)? { file ?? other }
    /// The files that must not be read by the run.
    var ownFiles: [FileIdentity] { [replaced, file?.identity].compactMap { $0 } }

    func finish() throws(BatchError) { try stream?.finish() }

    func discard() { file?.discard() }

    /// Runs a step of the preparation, and discards the output if it fails.
    func orDiscard<Value>(_ body: () throws(BatchError) -> Value) throws(BatchError) -> Value {
      do throws(BatchError) {
        return try body()
      } catch {
        discard()
        throw error
      }
    }
  }
}

/// A stream in place of standard output, for calls that write to none.
struct NoStream: ResultStream {
  func write(_ bytes: [UInt8]) throws(BatchError) {
    throw BatchError(.invalid, "a library call cannot write to a stream")
  }

  func finish() {}
}
