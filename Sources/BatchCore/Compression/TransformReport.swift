/// What a run says of one source, in tree order.
public struct TransformReport: Sendable {
  public let source: PathBytes
  public let outcome: TransformOutcome
}
