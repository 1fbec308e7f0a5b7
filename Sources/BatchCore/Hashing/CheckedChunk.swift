import BatchEngine

/// What the entries of one chunk came to, in the order of the manifest.
public struct CheckedChunk: Sendable {
  public internal(set) var rows = ResultRows()
  public internal(set) var tally = CheckTally()
  /// Lines of manifests that are no rows: why, with the number of the line and the manifest's path.
  public internal(set) var text: [BatchError] = []
}
