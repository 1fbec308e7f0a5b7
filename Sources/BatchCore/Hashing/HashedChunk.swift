/// The rows of one chunk, one behind the other, in the order of its files.
public struct HashedChunk: Sendable {
  public internal(set) var bytes: [UInt8] = []
  /// Where each file's row or rows end in ``bytes``.
  public internal(set) var rowEnds: [Int] = []

  /// The bytes of each file's row or rows.
  public var rows: some Sequence<ArraySlice<UInt8>> {
    zip([0] + rowEnds, rowEnds).lazy.map { bytes[$0..<$1] }
  }
}
