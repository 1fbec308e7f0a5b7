import BatchEngine

extension Batch {
  /// How compressed files are tested.
  public struct TestOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are tested. Below a folder, files are ignored that are compressed neither by their
    /// name nor by their content.
    public var walk = WalkOptions()

    /// The defaults: all compressed files are tested.
    public init() {}
  }

  /// The results of testing compressed files.
  public struct TestedFiles: Sendable {
    /// A file whose content cannot be read from it completely.
    public struct DamagedFile: Sendable, Hashable {
      public let path: PathBytes
      /// How many bytes of the file were accepted before the damage was detected.
      public let offset: UInt64
      /// What is wrong with the file, in words.
      public let reason: String
    }

    /// A compressed file that was tested.
    public struct File: Sendable, Hashable {
      public let path: PathBytes
      /// The size of the file in bytes.
      public let size: Int64
      /// Nil for an undamaged file.
      public let damage: DamagedFile?

      fileprivate init(_ finding: TestJob.Finding) {
        (path, size) = (finding.path, finding.size)
        damage = finding.damage.map {
          DamagedFile(path: finding.path, offset: $0.offset, reason: $0.message)
        }
      }
    }

    private var counts = TestCounts()
    /// The damaged files, in the order of the tree, at most ``Settings/mostListed``. They are not among the failures.
    public internal(set) var damagedFiles: [DamagedFile] = []
    /// Whether the end was reached, and no path failed.
    private var isComplete = false

    init() {}

    /// How many files are damaged.
    public var damaged: Int { counts.damaged }
    /// The size of the tested files in bytes.
    public var size: Int64 { counts.size }
    /// How many undamaged files have no checksum, so that a changed content could not be noticed.
    public var withoutChecksum: Int { counts.gaps.withoutChecksum }
    /// How many undamaged files have a checksum of a kind that is not known here.
    public var unverified: Int { counts.gaps.unverified }
    /// Whether all paths could be read to their ends, and no file is damaged.
    public var isVerified: Bool { isComplete && counts.damaged == 0 }

    /// - Returns: the row of the file.
    mutating func add(_ finding: TestJob.Finding, most: Int) -> File {
      counts.add(finding)
      let file = File(finding)
      if let damage = file.damage, damagedFiles.count < most { damagedFiles.append(damage) }
      return file
    }

    mutating func noteEnd(failed: Int) { isComplete = failed == 0 }
  }

  /// Decodes compressed files to test whether they are undamaged, and writes nothing.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: which files are tested, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the tested files in the order of the tree, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the counts and the damaged files. Files that cannot be read are among the failures.
  /// - Throws: `exhausted` if the machine does not allow a run.
  public static func test(
    _ paths: [some PathName], _ options: TestOptions = TestOptions(), progress: Progress? = nil,
    each: (@Sendable (TestedFiles.File) -> Void)? = nil
  ) async throws(BatchError) -> Report<TestedFiles> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: TestedFiles()) {
      (library) throws(BatchError) in
      let outcome = try library.run(TestCall(), paths, options.walk.readingAheadIfFaster) { findings in
        for finding in findings {
          let file = library.note { $0.add(finding, most: library.settings.mostListed) }
          each?(file)
        }
      }
      if outcome.result != nil { library.note { $0.noteEnd(failed: outcome.summary.counts.failed) } }
    }
  }
}
