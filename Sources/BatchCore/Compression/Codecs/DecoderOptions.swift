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

  /// The default of `memoryLimit`.
  static let largestMemory: UInt64 = 1 << 30
  static let largestWindowLog = 27
  /// The smallest window that zstd knows.
  private static let smallestWindowLog = 10

  package init(
    maximumOutput: UInt64? = nil, windowLog: Int = largestWindowLog, memoryLimit: UInt64 = largestMemory
  ) {
    self.maximumOutput = maximumOutput
    self.windowLog = windowLog
    self.memoryLimit = memoryLimit
  }

  /// - Parameter memory: what a decoder may take at most, in bytes; more than ``largestMemory`` and the largest window
  ///   changes nothing.
  package init(maximumOutput: UInt64? = nil, memory: Int) {
    let limit = min(Self.largestMemory, UInt64(max(1, memory)))
    let log = UInt64.bitWidth - 1 - limit.leadingZeroBitCount
    self.init(
      maximumOutput: maximumOutput,
      windowLog: max(Self.smallestWindowLog, min(Self.largestWindowLog, log)), memoryLimit: limit)
  }
}
