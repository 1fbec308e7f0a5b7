/// What one step of a run that archives is about.
public enum ArchiveItem: Sendable {
  /// A file that one operation writes, or something without content; where it has data when that is known.
  case member(FileRecord, dataMap: [Range<UInt64>]?)
  /// One more name of a file that came before.
  case link(FileRecord, first: PathBytes)
  /// The header of a file that all lanes write.
  case header(LargeMember)
  case block(LargeMember, index: Int)
  case problem(Problem)
}
