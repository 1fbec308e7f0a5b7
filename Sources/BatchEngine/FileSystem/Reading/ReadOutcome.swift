/// The result of reading a file to its end, in addition to its content.
public struct ReadOutcome: Sendable {
  /// The status that belongs to the content.
  public let status: FileStatus
  /// False when size, time or inode changed while the file was read: the content may then be a mixture.
  public let isStable: Bool
  /// Whether the file ended before its size, or became shorter afterwards: a part of it was never read.
  public var becameShorter = false
  /// Whether every later change of the content will give the file another change time (``ChangeSettling``); false if not
  /// checked.
  package var isSettled = false
}
