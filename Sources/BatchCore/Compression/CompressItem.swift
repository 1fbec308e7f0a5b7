import BatchEngine

/// What a tree comes to for a run that compresses it.
public enum CompressItem: Sendable {
  /// A file that one operation compresses as a whole.
  case file(FileRecord)
  /// One block of a large file, in order.
  case block(LargeFile, index: Int)
  /// One more name of a file that came before.
  case link(FileRecord, first: FileRecord)
  /// A block of standard input.
  case streamBlock([UInt8], index: Int)
  /// An output of an earlier run, whose source is beside it.
  case output(FileRecord)
  /// A file that came before, by another operand.
  case repeated(FileRecord)
  case problem(Problem)
}
