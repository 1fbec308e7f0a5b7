/// What a file that is made may replace.
public enum Replacing: Sendable, Hashable {
  /// Nothing. What would become a file that exists counts as failed; the source of an output counts as skipped if the output
  /// has its time.
  case never
  /// A file that is older than what the new one is made from.
  case older
  /// Every file, even one that is newer.
  case always
}
