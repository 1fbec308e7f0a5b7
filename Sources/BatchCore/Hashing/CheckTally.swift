import BatchEngine

/// How many entries of manifests came to what.
public struct CheckTally: Sendable, Hashable {
  public var matches = 0
  public var differs = 0
  public var missing = 0
  public var unreadable = 0
  /// Missing files that were not to be counted as such.
  public var ignored = 0
  /// Rows that are not valid.
  public var malformed = 0
  /// Lines that are no rows: comments and empty lines are not counted.
  public var text = 0
  /// Manifests that could not be opened or read to their end.
  public var unreadableManifests = 0

  public init() {}

  /// Entries that named a file, found or not.
  public var entries: Int { matches + differs + missing + unreadable + ignored }
}
