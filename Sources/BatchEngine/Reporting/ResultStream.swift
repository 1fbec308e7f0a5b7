/// Where the results of a run go: standard output, or a file that appears when it is complete.
public protocol ResultStream: Sendable {
  /// Appends bytes, all of them.
  ///
  /// - Throws: `closedOutput` when the reader has gone, `unwritable` when the bytes cannot be kept.
  func write(_ bytes: [UInt8]) throws(BatchError)

  /// Makes what was written final.
  ///
  /// - Throws: as ``write(_:)``.
  func finish() throws(BatchError)
}
