import BatchEngine

extension Batch {
  /// How two records of a tree are compared.
  public struct AuditOptions: Sendable {
    public var settings = Settings()
    /// Selects the paths of folders that are compared.
    public var walk = WalkOptions()

    /// The defaults: all paths are compared.
    public init() {}
  }

  /// How one side of an audit differs from the other.
  public struct AuditedPaths: Sendable {
    /// A difference at one path.
    public struct Difference: Sendable, Hashable {
      /// The kinds of differences; a path has the first one that applies.
      public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Recorded, but not found.
        case missing
        /// Found in a recorded folder, but not recorded.
        case new
        /// The content of a missing file under a new name.
        case moved
        /// The content of an existing recorded file under a new name.
        case copied
        /// An entry of another kind, such as a folder instead of a file.
        case type
        /// The bytes of a file differ, but its size and time do not.
        case rot
        /// The bytes of a file differ.
        case modified
        /// Mode, owner, attributes or the target of a link differ; or the time of an entry that is not a file.
        case metadata
        /// Only the time of a file differs.
        case touched
      }

      public let path: PathBytes
      public let kind: Kind
      /// The recorded path of content that was moved or copied.
      public let origin: PathBytes?
    }

    /// A path of the record, or one that only the other side has.
    public struct Finding: Sendable, Hashable {
      public let path: PathBytes
      /// Nil if the path is as recorded.
      public let difference: Difference?

      init(_ finding: AuditJob.Finding) {
        path = finding.path
        difference = finding.difference.flatMap { Difference.Kind(rawValue: $0.kind.rawValue) }.map {
          Difference(path: finding.path, kind: $0, origin: finding.origin)
        }
      }
    }

    /// Paths with differences, in the order of the record; missing, moved, copied and new paths come last. At most
    /// ``Settings/mostListed``.
    public internal(set) var differences: [Difference] = []
    /// The numbers of all differences by their kinds, without zeros.
    public internal(set) var differenceCounts: [Difference.Kind: Int] = [:]
    /// How many paths are as recorded.
    public internal(set) var same = 0
    /// How many paths the record has; 0 if the task was cancelled.
    public internal(set) var recorded = 0
    /// How many paths the other side has; 0 if the task was cancelled.
    public internal(set) var compared = 0
    /// How many paths could not be read before the comparison; they are among the failures, and are not in the counts.
    public internal(set) var unread = 0
    /// Whether the end was reached, and every path could be read.
    private var isComplete = false

    init() {}

    /// Whether all paths of both sides could be read, and there is no difference.
    public var isVerified: Bool { isComplete && differenceCounts.isEmpty }

    mutating func add(_ finding: Finding, most: Int) {
      guard let difference = finding.difference else { return same += 1 }
      differenceCounts[difference.kind, default: 0] += 1
      if differences.count < most { differences.append(difference) }
    }

    mutating func add(_ result: AuditCall.Result, failed: Int) {
      (recorded, compared) = (result.tally.recorded, result.tally.other)
      unread = result.unread
      isComplete = failed + result.unread == 0
    }
  }

  /// Compares any two of a folder, a manifest of digests, the manifest of a snapshot, and an archive; changes nothing.
  ///
  /// The names of both sides may begin in different folders: a manifest of `photos` can be compared with `/mnt/disk/photos`.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - record: the path of the side to which the other one is compared.
  ///   - other: the path of the other side.
  ///   - options: what is compared, and the resources that the call may use.
  ///   - progress: receives states without totals until the call returns.
  ///   - each: receives all paths; missing, moved, copied and new ones come last, one call at a time, on a thread of the run.
  ///     It may be slow, because the run waits for it when too many results are pending; it must not wait for the end of the
  ///     call.
  /// - Returns: the counts and the first differences. Files that cannot be read are among the failures.
  /// - Throws: the errors of opening both sides; `malformed` for one that is damaged, `unsupported` for one that is encrypted,
  ///   `invalid` if they have digests of different algorithms, or if one is a folder of snapshots and the other is not;
  ///   `exhausted` if the machine does not allow a run.
  public static func audit(
    _ record: some PathName, against other: some PathName, _ options: AuditOptions = AuditOptions(),
    progress: Progress? = nil, each: (@Sendable (AuditedPaths.Finding) -> Void)? = nil
  ) async throws(BatchError) -> Report<AuditedPaths> {
    let record = try record.pathBytes()
    let other = try other.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: AuditedPaths()) {
      (library) throws(BatchError) in
      let sides = [record, other].asFiles
      let call = AuditCall(.paths(sides[0], sides[1], walk: options.walk.readingAheadIfFaster))
      let outcome = try library.run(call, sides) { findings in
        for finding in findings.lazy.map({ AuditedPaths.Finding($0) }) {
          library.note { $0.add(finding, most: library.settings.mostListed) }
          each?(finding)
        }
      }
      if let result = outcome.result {
        library.note { $0.add(result, failed: outcome.summary.counts.failed) }
      }
    }
  }
}
