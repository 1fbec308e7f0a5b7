import BatchEngine

/// What a run says of one source, in tree order.
public struct TransformReport: Sendable {
  public let source: PathBytes
  public let outcome: TransformOutcome
  /// Why decompressed content could not be compared with a check; nil where it was, or nothing was decompressed.
  public var checkGap: CheckGap?
}
