import BatchEngine

/// What came of one entry of a manifest.
public enum CheckOutcome: Sendable, Hashable {
  case matches
  case differs
  /// The file is not there.
  case missing
  /// The file is there, or was, and could not be read.
  case unreadable
}
