import BatchEngine

/// The limits of a decoder.
package struct DecoderOptions: Sendable, Hashable {
  /// The most bytes of content that one file may have, nil for no limit.
  package var maximumOutput: UInt64?
  /// zstd: the largest window, as the binary logarithm of its bytes, 10 to 31. Frames of `zstd --long=31` need 31; the default
  /// is that of the stock tool without an option.
  package var windowLog: Int
  /// xz, lzip, lzma: the most memory in bytes that a decoder may take. Output of level 9 needs 65 MiB.
  package var memoryLimit: UInt64

  /// The default of `memoryLimit`.
  static let largestMemory: UInt64 = 1 << 30
  static let usualWindowLog = 27
  static let largestWindowLog = 31
  /// The smallest window of zstd.
  private static let smallestWindowLog = 10

  package init(
    maximumOutput: UInt64? = nil, windowLog: Int = usualWindowLog, memoryLimit: UInt64 = largestMemory
  ) {
    self.maximumOutput = maximumOutput
    self.windowLog = windowLog
    self.memoryLimit = memoryLimit
  }

  /// - Parameter memory: the memory for buffers of the run, in bytes. A zstd window may have all of it up to the stock tool's
  ///   limit, and half of it above that: a window and its content are in memory.
  package init(maximumOutput: UInt64? = nil, memory: Int) {
    let limit = min(Self.largestMemory, UInt64(max(1, memory)))
    func log(_ bytes: Int) -> Int { UInt64.bitWidth - 1 - UInt64(max(1, bytes)).leadingZeroBitCount }
    let window = max(min(log(memory), Self.usualWindowLog), min(log(memory / 2), Self.largestWindowLog))
    self.init(
      maximumOutput: maximumOutput, windowLog: max(Self.smallestWindowLog, window), memoryLimit: limit)
  }
}
