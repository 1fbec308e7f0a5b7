/// What the entries of one chunk came to, in the order of the manifest.
public struct CheckedChunk: Sendable {
  /// A line of a manifest that says nothing.
  public struct MalformedLine: Sendable, Hashable {
    public let manifest: PathBytes
    /// From 1.
    public let line: Int
    /// Safe to print: no byte of the line is in it.
    public let reason: String
  }

  public internal(set) var rows = ResultRows()
  public internal(set) var tally = CheckTally()
  public internal(set) var malformed: [MalformedLine] = []
}
