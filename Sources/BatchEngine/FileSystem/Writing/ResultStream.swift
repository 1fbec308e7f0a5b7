/// The destination of the results of a run: standard output, or a file that appears when it is complete.
public protocol ResultStream: Sendable {
  /// Appends all bytes.
  ///
  /// - Throws: `closedOutput` when the reader has closed the stream, `unwritable` when the bytes cannot be stored.
  func write(_ bytes: [UInt8]) throws(BatchError)

  /// Completes the output.
  ///
  /// - Throws: as ``write(_:)``.
  func finish() throws(BatchError)
}
