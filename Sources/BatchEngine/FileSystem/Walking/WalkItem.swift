/// What a walk yields: regular files, and the paths that are none or could not be looked at.
public enum WalkItem: Sendable {
  /// Not always a regular file where the walk takes everything.
  case file(FileRecord)
  /// Standard input, where `-` was given as an operand.
  case standardInput
  case problem(Problem)
}
