import BatchEngine

/// What is written into an archive, and how.
package struct ArchiveOptions: Sendable {
  package var format: ArchiveFormat
  /// Nil for the default of the format.
  package var level: Int?
  /// Makes archives of equal trees equal: owner and group 0 without names, no time after ``latestTime``.
  package var isReproducible = false
  /// Later times are replaced by this one; seconds since 1970.
  package var latestTime: Int64?
  /// Metadata that replaces that of all members.
  package var changes = MemberChanges()
  /// Records what was written, so that the archive can be read back and compared.
  package var isRemembered = false

  /// The seed with which the blocks of large files are hashed; nil if they are not.
  var blockSeed: UInt64?

  package init(format: ArchiveFormat) {
    self.format = format
  }

  /// - Throws: as ``ArchiveFormat/memoryOfLane(level:)``.
  package func memoryOfLane() throws(BatchError) -> Int { try format.memoryOfLane(level: level) }

  func time(of status: FileStatus) -> FileStatus.Time {
    let time = status.modified
    guard let latestTime else { return time }
    let isLater = time.seconds > latestTime || (time.seconds == latestTime && time.nanoseconds > 0)
    return isLater ? FileStatus.Time(seconds: latestTime, nanoseconds: 0) : time
  }
}
