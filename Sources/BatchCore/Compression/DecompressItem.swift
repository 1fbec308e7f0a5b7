/// What a tree comes to for a run that decompresses it.
public enum DecompressItem: Sendable {
  case file(FileRecord)
  /// One more name of a file that came before; both have outputs.
  case link(FileRecord, first: FileRecord)
  case standardInput
  case problem(Problem)
}
