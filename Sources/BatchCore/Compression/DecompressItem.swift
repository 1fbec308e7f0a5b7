import BatchEngine

/// What a tree comes to for a run that decompresses it.
public enum DecompressItem: Sendable {
  /// Another file beside it may have the same output.
  case file(FileRecord, mayHaveRival: Bool)
  /// One more name of a file that came before; both have outputs.
  case link(FileRecord, first: FileRecord, mayHaveRival: Bool)
  case standardInput
  case problem(Problem)
}
