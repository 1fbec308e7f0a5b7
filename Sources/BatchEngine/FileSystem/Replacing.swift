/// Which existing file a new file may replace.
public enum Replacing: Sendable, Hashable {
  /// None. If a file exists, the new one is not written and counts as failed. The source of an output counts as skipped instead if
  /// the existing output has the source's time.
  case never
  /// A file that is older than the source of the new one.
  case older
  /// Every file, even one that is newer.
  case always
}
