/// One result of a walk: a file, standard input, or a path that could not be examined.
public enum WalkItem: Sendable {
  /// Not always a regular file where the walk takes everything.
  case file(FileRecord)
  /// Standard input, where `-` was given as an operand.
  case standardInput
  case problem(Problem)
}
