import BatchEngine

extension Batch {
  /// How files with equal content are searched.
  public struct DuplicatesOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are compared. Empty files are ignored.
    public var walk = WalkOptions()
    /// Also finds folders with equal trees: the same names, contents of files and targets of links below them. Files below
    /// the minimum size of ``walk`` are then compared too, and groups of smaller files and folders are left out.
    public var comparesFolders = false

    /// The defaults: all files are compared.
    public init() {}
  }

  /// Files with equal content that are not names of one file.
  public struct DuplicateFiles: Sendable, Hashable {
    /// The size of each file in bytes.
    public let size: Int64
    /// The SHA-256 of the content.
    public let digest: Digest
    /// Two or more, in the order of the tree; for a file with several names, the first one. In the lists of a report at most
    /// ``Settings/mostListed``.
    public let paths: [PathBytes]
    /// The number of all these files.
    public let count: Int
  }

  /// Folders with equal trees that are not the same files under other names.
  public struct DuplicateFolders: Sendable, Hashable {
    /// The sizes of all files below each folder in bytes, 1 or more.
    public let size: Int64
    /// The number of files below each folder.
    public let fileCount: Int
    /// Two or more, in the order of the tree. At most ``Settings/mostListed``.
    public let paths: [PathBytes]
    /// The number of all these folders.
    public let count: Int
  }

  /// The groups of files with equal content.
  public struct FoundDuplicates: Sendable {
    /// The group that takes the most space first, at most ``Settings/mostListed``. If folders are compared, without groups whose files
    /// all lie in folders of a group.
    public internal(set) var groups: [DuplicateFiles] = []
    /// The number of all groups.
    public internal(set) var groupCount = 0
    /// How many files are copies of the first one of their group.
    public internal(set) var surplusFiles = 0
    /// Bytes that these copies take.
    public internal(set) var surplusBytes: Int64 = 0
    /// Groups of folders, the one that takes the most space first, at most ``Settings/mostListed``; none unless
    /// ``DuplicatesOptions/comparesFolders`` is set. Without folders that lie in listed ones and have no copies elsewhere.
    public internal(set) var folders: [DuplicateFolders] = []
    /// The number of all groups of folders.
    public internal(set) var folderGroupCount = 0

    init() {}

    mutating func add(_ found: DuplicateGroups, most: Int) {
      groupCount = found.files.count
      for group in found.files {
        surplusFiles += group.files.count - 1
        surplusBytes.addClamped(group.surplus)
      }
      groups = found.files.prefix(max(0, most)).map { DuplicateFiles($0, most: most) }
      folderGroupCount = found.folders.count
      folders = found.folders.prefix(max(0, most)).map { DuplicateFolders($0, most: most) }
    }
  }

  /// Finds files with equal content, and changes nothing. Files that can have no copy are not read.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: which files are compared, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives all groups of files with all their paths when the search is complete, in the order of
  ///     ``FoundDuplicates/groups``, one call at a time, on a thread of the run; it must not wait for the end of the call.
  /// - Returns: the counts and the first groups; none if the task was cancelled. Files that cannot be read, or that change
  ///   meanwhile, are in no group.
  /// - Throws: `exhausted` if the machine does not allow a run.
  public static func duplicates(
    _ paths: [some PathName], _ options: DuplicatesOptions = DuplicatesOptions(), progress: Progress? = nil,
    each: (@Sendable (DuplicateFiles) -> Void)? = nil
  ) async throws(BatchError) -> Report<FoundDuplicates> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: FoundDuplicates()) {
      (library) throws(BatchError) in
      var call = DuplicatesCall()
      call.givesSHA256 = true
      call.comparesFolders = options.comparesFolders
      try library.run(call, paths, options.walk.readingAheadIfFaster) { found in
        library.note { $0.add(found, most: library.settings.mostListed) }
        if let each { for group in found.files { each(DuplicateFiles(group)) } }
      }
    }
  }
}

extension Batch.DuplicateFolders {
  fileprivate init(_ group: DuplicateFolderGroup, most: Int) {
    self.init(
      size: group.size, fileCount: group.fileCount, paths: Array(group.paths.prefix(max(0, most))),
      count: group.paths.count)
  }
}

extension Batch.DuplicateFiles {
  fileprivate init(_ group: DuplicateGroup, most: Int = .max) {
    self.init(
      size: group.size, digest: group.digest,
      paths: group.files.prefix(max(0, most)).map(\.path), count: group.files.count)
  }
}
