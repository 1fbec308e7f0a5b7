import BatchEngine

/// The bounds of a decoder.
package struct DecoderOptions: Sendable, Hashable {
  /// The most bytes of content that one file may have, nil for no bound.
  package var maximumOutput: UInt64?
  /// zstd: the largest window, as the binary logarithm of its bytes, 10 to 31. Frames of `zstd --long=31`
  /// need 31; the default is the stock tool's.
  package var windowLog: Int
  /// xz, lzip, lzma: the most memory in bytes that a decoder may take. What level 9 writes needs 65 MiB.
  package var memoryLimit: UInt64

  package init(maximumOutput: UInt64? = nil, windowLog: Int = 27, memoryLimit: UInt64 = 1 << 30) {
    self.maximumOutput = maximumOutput
    self.windowLog = windowLog
    self.memoryLimit = memoryLimit
  }
}
