import BatchEngine

/// What became of one source.
public enum TransformOutcome: Sendable, Hashable {
  case written(target: PathBytes, plainSize: Int64, compressedSize: Int64)
  case upToDate
  /// By its first bytes it is in a compressed format.
  case compressedAlready
  /// The output would not have been smaller.
  case notSmaller
  case linked(target: PathBytes)

  var isLinked: Bool {
    if case .linked = self { true } else { false }
  }
}
