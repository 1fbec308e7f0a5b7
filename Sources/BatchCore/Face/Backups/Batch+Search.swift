import BatchEngine

extension Batch {
  /// Where a path is searched.
  public struct SearchOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// Whether the text is a name only, even if it has the characters of a pattern.
    public var isName = false

    /// The defaults: a text with wildcards is a pattern.
    public init() {}
  }

  /// A path in a snapshot.
  public struct FoundFile: Sendable, Hashable {
    /// How it differs from the snapshot before.
    public enum Change: String, Sendable, Hashable {
      /// It is in the oldest snapshot.
      case first
      /// It is not in the snapshot before.
      case new
      /// Kind, content, or target of the link.
      case changed
      /// Only time, mode or owner.
      case touched
      case same
    }

    /// The id of the snapshot.
    public let snapshot: String
    /// Without a leading slash.
    public let path: PathBytes
    public let change: Change
    /// In bytes; 0 for an entry without content.
    public let size: UInt64
    public let modified: FileStatus.Time
    /// The SHA-256 of a file; nil for other kinds, and for a file with large holes.
    public let digest: Digest?

    init(_ found: FoundPath) {
      let entry = found.entry
      (snapshot, path, size) = (found.stamp, entry.path, entry.size)
      (modified, digest) = (entry.modified, entry.digest)
      change = Change(rawValue: found.change.rawValue) ?? .changed
    }
  }

  /// The result of a search.
  public struct FoundFiles: Sendable {
    /// In the order of the snapshots, from the oldest to the newest, at most ``Settings/mostListed``.
    public internal(set) var paths: [FoundFile] = []
    /// The number of all; each path counts once for each snapshot.
    public internal(set) var count = 0

    init() {}

    mutating func add(_ found: [FoundPath], most: Int) {
      count += found.count
      paths += found.prefix(max(0, most - paths.count)).map(FoundFile.init)
    }
  }

  /// Searches the snapshots of a set for paths.
  ///
  /// A text without a slash is compared with the last name of a path; one with a slash with any trailing part of the path, or with
  /// the whole path if it begins with a slash. Wildcards match slashes.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - text: a name, a path or a pattern in the syntax of gitignore(5).
  ///   - folder: the local folder of the set.
  ///   - options: the set, and the resources that the call may use.
  ///   - each: receives all paths, in the order of ``FoundFiles/paths``, one call at a time, on a thread of the run. It may be
  ///     slow, because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the paths. Snapshots whose manifests are damaged are among the failures.
  /// - Throws: `missing` if there is no set, `invalid` if there are several, `exhausted` if the machine does not allow a run.
  public static func search(
    for text: some PathName, in folder: some PathName, _ options: SearchOptions = SearchOptions(),
    each: (@Sendable (FoundFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<FoundFiles> {
    let text = try text.pathBytes()
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: nil, details: FoundFiles()) {
      (library) throws(BatchError) in
      let call = SearchCall(PathSearch(text, isName: options.isName)) { (run) throws(BatchError) in
        var sets = SearchCall.Sets()
        let set = try BackupSet(in: folder, named: options.setName, run)
        let content = try set.content(in: run)
        for error in content.damaged { run.report(Problem(.unreadable, error), severity: .failure) }
        sets.damaged = content.damaged.count
        sets.found = [(set, content.snapshots)]
        return sets
      }
      try library.run(call, [folder]) { found in
        library.note { $0.add(found, most: library.settings.mostListed) }
        if let each { for path in found { each(FoundFile(path)) } }
      }
    }
  }
}
