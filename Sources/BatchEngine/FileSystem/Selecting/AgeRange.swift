/// Selects files by their time of modification.
public struct AgeRange: Sendable, Hashable {
  /// Takes files that were modified before this moment.
  public var before: FileStatus.Time?
  /// Takes files that were modified after this moment.
  public var after: FileStatus.Time?

  public init(before: FileStatus.Time? = nil, after: FileStatus.Time? = nil) {
    self.before = before
    self.after = after
  }

  /// Whether no time can be within both bounds.
  public var isEmpty: Bool {
    guard let before, let after else { return false }
    return after >= before
  }

  package func contains(_ time: FileStatus.Time) -> Bool {
    (before.map { time < $0 } ?? true) && (after.map { time > $0 } ?? true)
  }
}
