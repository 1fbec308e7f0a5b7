import BatchEngine

extension Batch {
  /// How an archive is verified.
  public struct VerifyOptions: Sendable {
    public var settings = Settings()
    /// A folder to compare the members with; nil for none. The names of the members begin there.
    public var directory: PathBytes?
    /// Selects the paths of ``directory`` that are compared.
    public var walk = WalkOptions()

    /// The defaults: only the archive is verified.
    public init() {}
  }

  /// The result of verifying an archive.
  public struct VerifiedArchive: Sendable {
    /// How a folder differs from the archive at one path.
    public struct Difference: Sendable, Hashable {
      /// The kinds of differences.
      public enum Kind: String, Sendable, Hashable {
        /// A member that is not in the folder.
        case missing
        /// A path in the folder that is not a member.
        case new
        /// An entry of another kind, such as a folder instead of a file.
        case type
        /// The bytes of a file differ.
        case modified
        /// Mode, owner, attributes or the target of a link differ; or the time of an entry that is not a file.
        case metadata
        /// Only the time of a file differs.
        case touched
      }

      public let path: PathBytes
      public let kind: Kind
    }

    /// A member of the archive, or a path of the folder.
    public struct Finding: Sendable {
      public let path: PathBytes
      /// Why it cannot be extracted with its original content and metadata; nil if it can.
      public let damage: BatchError?
      /// How the folder differs; nil if it does not, and without a folder.
      public let difference: Difference.Kind?

      fileprivate init(_ finding: VerifyJob.Finding) {
        (path, damage) = (finding.path, finding.damage)
        difference = finding.difference.flatMap { Difference.Kind(rawValue: $0.kind.rawValue) }
      }
    }

    /// Members that cannot be extracted with their original content and metadata.
    public internal(set) var damagedMembers = 0
    /// Members that changed while they were archived, as the index says.
    public internal(set) var changedMembers = 0
    /// Damage of the archive itself, in sentences.
    public internal(set) var damage: [String] = []
    /// Remarks about the archive, in sentences.
    public internal(set) var remarks: [String] = []
    /// The SHA-256 of its index, which identifies its whole content; nil for an archive without an index.
    public internal(set) var indexDigest: Digest?
    /// Paths at which the folder differs, in the order of the archive, at most ``Settings/mostListed``.
    public internal(set) var differences: [Difference] = []
    /// The number of all differences.
    public internal(set) var differenceCount = 0
    /// Whether the end was reached, and every member and path could be read in full.
    private var isComplete = false

    init() {}

    /// Whether the archive was read to its end, every member could be read in full, nothing is damaged, and the folder does not
    /// differ and could be read.
    public var isVerified: Bool {
      isComplete && damagedMembers == 0 && damage.isEmpty && differenceCount == 0
    }

    /// - Returns: the row of the finding.
    mutating func add(_ finding: VerifyJob.Finding, most: Int) -> Finding {
      let row = Finding(finding)
      if row.damage != nil { damagedMembers += 1 }
      if !finding.flags.isEmpty { changedMembers += 1 }
      if finding.difference != nil { differenceCount += 1 }
      if differences.count < most, let kind = row.difference {
        differences.append(Difference(path: row.path, kind: kind))
      }
      return row
    }

    mutating func add(_ verification: Verification, failed: Int) {
      damage = verification.damage
      remarks = verification.warnings
      indexDigest = verification.indexDigest
      isComplete = failed == 0 && verification.incompleteMembers == 0
    }
  }

  /// Decodes an archive without extracting it, and compares all its checksums and its index with its content. If the options name
  /// a folder, also compares the archive with the folder.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - archive: the path of the archive.
  ///   - options: what is compared, and the resources that the call may use.
  ///   - progress: receives states until the call returns. They have totals only if the archive has an index.
  ///   - each: receives the members in the order of the archive, then what only the folder has, one call at a time, on a thread
  ///     of the run. It may be slow, because the run waits for it when too many results are pending; it must not wait for the
  ///     end of the call.
  /// - Returns: the results. A file that is not an archive counts as damaged.
  /// - Throws: the error of opening the archive or the folder; `unsupported` for an encrypted archive; `exhausted` if the
  ///   machine does not allow a run; `invalid` if the names of the members begin above the folder.
  public static func verify(
    _ archive: some PathName, _ options: VerifyOptions = VerifyOptions(), progress: Progress? = nil,
    each: (@Sendable (VerifiedArchive.Finding) -> Void)? = nil
  ) async throws(BatchError) -> Report<VerifiedArchive> {
    let archive = try archive.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: VerifiedArchive()) {
      (library) throws(BatchError) in
      var call = VerifyCall(ReadArchive(archive == "-" ? "./-" : archive))
      call.folder = options.directory.map { ($0, options.walk.readingAheadIfFaster) }
      do throws(BatchError) {
        let outcome = try library.run(call, [archive]) { findings in
          for finding in findings {
            let row = library.note { $0.add(finding, most: library.settings.mostListed) }
            each?(row)
          }
        }
        guard let verification = outcome.result else { return }
        library.note { $0.add(verification, failed: outcome.summary.counts.failed) }
      } catch {
        guard error.code == .malformed else { throw error }
        library.note { $0.damage = [error.message] }
      }
    }
  }
}
