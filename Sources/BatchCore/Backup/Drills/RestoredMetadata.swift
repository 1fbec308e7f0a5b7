import BatchEngine

/// What the metadata of restored files is compared with: as far as the temporary folder of a drill can store it.
final class RestoredMetadata {
  /// An ordinary time with all digits.
  private static let ordinary = FileStatus.Time(seconds: 1_000_000_001, nanoseconds: 123_456_789)

  private let folder: TemporaryFolder
  private let storesOrdinaryTimes: Bool
  private let storesModes: Bool
  /// The first limit of the file system that was met; nil if everything could be stored.
  private(set) var limit: BatchError?

  init(_ folder: TemporaryFolder) {
    self.folder = folder
    storesOrdinaryTimes = folder.stored(Self.ordinary) == Self.ordinary
    storesModes = folder.storesModes
  }

  /// Removes the facts that a drill does not restore: owners, and the bits setuid and setgid, which not every user may set; and
  /// adapts those that the file system stores otherwise.
  func adjust(_ record: inout RecordedPath) {
    (record.owner, record.group) = (nil, nil)
    record.mode = record.mode.map { $0 & 0o1777 }
    if !storesModes {
      record.mode = nil
      meet("modes", record.path)
    }
    guard let time = record.modified, !storesOrdinaryTimes || Int32(exactly: time.seconds) == nil else {
      return
    }
    record.modified = folder.stored(time)
    if record.modified != time { meet("times", record.path) }
  }

  private func meet(_ fact: String, _ path: PathBytes) {
    guard limit == nil else { return }
    limit = BatchError(
      .special,
      "the file system of \(folder.path.parent) cannot store some \(fact), here and maybe elsewhere: they are compared as far as it can",
      path: path)
  }
}
