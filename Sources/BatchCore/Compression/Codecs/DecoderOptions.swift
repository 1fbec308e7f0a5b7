import BatchEngine

/// The limits of a decoder.
package struct DecoderOptions: Sendable, Hashable {
  /// The most bytes of content that one file may have, nil for no limit.
  package var maximumOutput: UInt64?
  /// zstd: the largest window, as the binary logarithm of its bytes, 10 to 31. Frames of `zstd --long=31` need 31. The stock
  /// tool without an option has the same default.
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

  /// The options of a run. A zstd window may have all of the memory for buffers up to the stock tool's limit, and above it half of
  /// the memory that was given on purpose: a window and its content are in memory.
  package init(_ options: BatchOptions, maximumOutput: UInt64? = nil) {
    let memory = UInt64(max(1, options.memory))
    func log(_ bytes: UInt64) -> Int { UInt64.bitWidth - 1 - max(1, bytes).leadingZeroBitCount }
    let window = max(
      min(log(memory), Self.usualWindowLog),
      min(log(UInt64(max(0, options.givenMemory)) / 2), Self.largestWindowLog))
    self.init(
      maximumOutput: maximumOutput, windowLog: max(Self.smallestWindowLog, window),
      memoryLimit: min(Self.largestMemory, memory))
  }
}
