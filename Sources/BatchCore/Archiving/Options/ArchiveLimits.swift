import BatchEngine

/// How large the content of an archive may be when it is extracted.
public struct ArchiveLimits: Sendable, Hashable {
  /// The ratio is not checked below this size.
  private static let harmless: UInt64 = 1 << 20

  /// Bytes of content at most; nil for no limit.
  public var maximumOutput: UInt64?
  /// How many times as large as the archive the content may be; nil for no limit.
  public var maximumRatio: UInt64?

  /// Limits, or none.
  public init(maximumOutput: UInt64? = nil, maximumRatio: UInt64? = nil) {
    self.maximumOutput = maximumOutput
    self.maximumRatio = maximumRatio
  }

  /// - Throws: `exhausted` when there is too much content.
  func check(plain: UInt64, compressed: UInt64) throws(BatchError) {
    if let maximumOutput, plain > maximumOutput {
      throw BatchError(
        .exhausted, "the content is larger than \(maximumOutput) bytes", remedy: .raiseOutputLimit)
    }
    if let maximumRatio, plain > Self.harmless, plain / max(1, compressed) >= maximumRatio {
      throw BatchError(
        .exhausted, "the content is more than \(maximumRatio) times as large as the archive",
        remedy: .raiseRatioLimit)
    }
  }
}
