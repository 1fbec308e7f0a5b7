/// What is written into an archive, and how.
public struct ArchiveOptions: Sendable {
  public var format: ArchiveFormat
  /// Nil for the default of the format.
  public var level: Int?
  /// Makes equal trees into equal archives: owner and group 0 without names, no later time than ``latestTime``.
  public var isReproducible = false
  /// Later times are set back to this one; seconds since 1970.
  public var latestTime: Int64?

  public init(format: ArchiveFormat) {
    self.format = format
  }

  /// The time that a member gets.
  func time(of status: FileStatus) -> FileStatus.Time {
    guard let latestTime else { return status.modified }
    let isLater =
      status.modified.seconds > latestTime
      || (status.modified.seconds == latestTime && status.modified.nanoseconds > 0)
    return isLater ? FileStatus.Time(seconds: latestTime, nanoseconds: 0) : status.modified
  }
}
