/// One result of a walk: a file, standard input, or a path that could not be examined.
public enum WalkItem: Sendable {
  /// A file; if the walk takes everything, also a folder, link, FIFO or device.
  case file(FileRecord)
  /// Standard input, if `-` was given as an operand.
  case standardInput
  case problem(Problem)
}
