/// What reading a file to its end found out beside its content.
public struct ReadOutcome: Sendable {
  /// The status that belongs to the content.
  public let status: FileStatus
  /// False when size, time or inode moved while the file was read: then the content is a mixture.
  public let isStable: Bool
  /// Whether it ended before its size, or has become shorter since: a part of it was never read.
  public var becameShorter = false
  /// Whether each later change of the content gives the file another time of status than it had (``ChangeSettling``);
  /// false where that was not asked.
  package var isSettled = false
}
