import BatchEngine

/// How a tree is copied into a folder, and what happens to files that are there.
public struct MirroringOptions: Sendable {
  /// Which files of the target are kept although they differ from their source.
  public enum Keeping: Sendable, Hashable {
    case none
    /// Files that were modified later than their source.
    case newer
    /// All files that exist.
    case existing
  }

  /// What is removed from the target: entries of the copied folders that the source does not have. Nothing is removed after a
  /// failure, for an empty source, or if more files would go than the limit allows.
  public struct Removal: Sendable, Hashable {
    /// The most files that are removed, 0 or more; nil for half of those below each source.
    public var mostFiles: Int?
    /// Whether entries that the selection leaves out are removed too.
    public var removesFiltered = false

    /// Half of the files below each source at most, and nothing that the selection leaves out.
    public init() {}
  }

  public var keeping = Keeping.none
  /// Whether files of equal size are compared by their bytes, and not by their times.
  public var comparesContent = false
  /// Whether character and block devices are copied.
  public var makesDevices = false
  /// Whether the digest of each file is reported.
  package var makesDigests = false
  /// Whether each file of the target is read back after its cache was dropped, and compared with its source.
  public var verifies = false
  /// What is removed at the end; nil for nothing.
  public var removal: Removal?
  /// Other copies of the tree: a file that is equal in one of them becomes a further name of it. Relative paths begin in the
  /// target.
  public var linkSources: [PathBytes] = []
  /// Whether files are synced to the disk before they get their names.
  public var isSynced = true
  /// Whether nothing is changed: everything is read, decided and reported as if it were.
  package var isDryRun = false

  /// Everything but devices is copied, and nothing is removed.
  public init() {}

  /// Whether each file must be read, or its digest known.
  var needsDigests: Bool { makesDigests || verifies }
}

/// What happened to one path.
package struct MirrorReport: Sendable {
  package enum Outcome: String, Sendable {
    /// It is new in the target.
    case copied
    /// It replaced another version.
    case updated
    /// It became a further name of a file in the target, or of a file in another copy.
    case linked
    /// Only owner, mode, time or attributes were set.
    case described
    case upToDate = "up_to_date"
    /// The version in the target was kept, as requested.
    case kept
    /// It was removed from the target.
    case removed
  }

  /// The source; for a removed path the target.
  package let path: PathBytes
  /// Below the target.
  package let place: RelativePath
  package let kind: FileStatus.Kind
  package let size: Int64
  package let modified: FileStatus.Time
  package var outcome: Outcome
  /// Of a regular file, if digests were requested.
  package internal(set) var digest: Digest?
  /// The owner of the source.
  var owner: UInt32
  /// Of a file with several names.
  let identity: FileIdentity?
  var losses = EntryMetadata.Losses()

  init(_ record: FileRecord, _ place: RelativePath, _ outcome: Outcome, status: FileStatus? = nil) {
    let status = status ?? record.status
    path = record.path
    self.place = place
    kind = status.kind
    size = kind == .regular ? status.size : 0
    modified = status.modified
    owner = status.owner
    self.outcome = outcome
    identity = kind != .directory && status.linkCount > 1 ? status.identity : nil
  }

  /// As the result of a shard has it.
  init(
    _ path: PathBytes, _ place: RelativePath, _ kind: FileStatus.Kind, size: Int64,
    modified: FileStatus.Time = FileStatus.Time(seconds: 0, nanoseconds: 0)
  ) {
    (self.path, self.place, self.kind, self.size) = (path, place, kind, size)
    self.modified = modified
    owner = 0
    outcome = .upToDate
    identity = nil
  }

  init(removed place: RelativePath, below target: PathBytes, _ kind: FileStatus.Kind) {
    path = target.appending(place.bytes)
    self.place = place
    self.kind = kind
    (size, owner, modified) = (0, 0, FileStatus.Time(seconds: 0, nanoseconds: 0))
    outcome = .removed
    identity = nil
  }

  /// Why it needed no work; nil if something was done.
  var skipReason: SkipReason? {
    switch outcome {
    case .upToDate: .upToDate
    case .kept: .kept
    case .copied, .updated, .linked, .described, .removed: nil
    }
  }
}

/// The result of a run that mirrors.
package struct MirrorResult: Sendable {
  /// Files that were copied, new or changed.
  package internal(set) var copied = 0
  package internal(set) var bytes: Int64 = 0
  /// Further names that were made.
  package internal(set) var linked = 0
  /// Links, FIFOs and devices that were made.
  package internal(set) var nodes = 0
  /// Folders that were made.
  package internal(set) var folders = 0
  /// Paths of which only metadata were set.
  package internal(set) var described = 0
  package internal(set) var upToDate = 0
  package internal(set) var kept = 0
  package internal(set) var removed = 0
  package internal(set) var verified = 0
  /// Files whose content in the target is not that of the source.
  package internal(set) var different = 0
  /// Files whose bytes changed since an earlier run, but not their size and time.
  package internal(set) var rotten = 0
  /// Whether the target is in memory, so that reading it back proves nothing.
  package internal(set) var isUnproved = false
  /// Rows of the manifest.
  package internal(set) var rows = 0
  /// Why nothing was removed; nil if removing was not requested or was done.
  package internal(set) var refusal: BatchError?
  /// Why the target could not be synced.
  package internal(set) var failure: BatchError?
  /// Metadata that the target did not take: the first path and the number of paths of each kind.
  package internal(set) var losses: [(text: String, path: PathBytes, count: Int)] = []

  mutating func count(_ report: MirrorReport) {
    switch report.outcome {
    case .copied, .updated:
      switch report.kind {
      case .regular:
        copied += 1
        bytes.addClamped(report.size)
      case .directory: folders += 1
      default: nodes += 1
      }
    case .linked: linked += 1
    case .described: described += 1
    case .upToDate: upToDate += 1
    case .kept: kept += 1
    case .removed: removed += 1
    }
  }
}
