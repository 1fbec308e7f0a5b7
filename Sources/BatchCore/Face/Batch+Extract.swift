import BatchEngine

extension Batch {
  /// Which members are extracted, and how.
  public struct ExtractOptions: Sendable {
    public var settings = Settings()
    /// Names of the members to extract, or patterns in the syntax of gitignore(5), but wildcards also match slashes. A text that
    /// is exactly the name of a member selects only that. Without patterns all members are extracted. A folder that matches is
    /// extracted with all its contents.
    public var patterns: [PathBytes] = []
    /// Excludes some of these members; nil excludes none.
    public var filter: PathFilter?
    /// How many leading names of each path are dropped, 0 or more.
    public var strippedNames = 0
    /// How they become files.
    public var extraction = ExtractionOptions()

    /// The defaults: all members are extracted; no existing file is replaced.
    public init() {}
  }

  /// A member of an archive, or a path of a snapshot, that was selected.
  public struct ExtractedFile: Sendable, Hashable {
    /// What became of it.
    public enum Result: Sendable, Hashable {
      case extracted
      /// An existing file has its name, and was kept.
      case kept
      /// A later member has its name.
      case superseded
      /// The existing file is equal.
      case upToDate
      /// It was in the target, and the snapshot does not have it (``RestoreOptions/removesOthers``).
      case removed
    }

    /// Its name in the archive.
    public let path: PathBytes
    /// A superseded member counts as a file without content.
    public let kind: Member.Kind
    /// Bytes of content.
    public let size: UInt64
    public let result: Result

    init(_ report: ExtractionReport) {
      (path, kind, size) = (report.path, Member.Kind(report.kind), report.size)
      result =
        switch report.outcome {
        case .extracted: .extracted
        case .kept: .kept
        case .superseded: .superseded
        case .upToDate: .upToDate
        case .removed: .removed
        }
    }
  }

  /// The members of an archive, or the files of a snapshot, that were created.
  public struct ExtractedFiles: Sendable {
    /// Regular files.
    public internal(set) var files = 0
    /// Folders, links, FIFOs and devices.
    public internal(set) var others = 0
    /// Bytes of the contents.
    public internal(set) var bytes: UInt64 = 0
    /// How many paths were removed that the snapshot does not have.
    public internal(set) var removed = 0
    /// The id of the snapshot that was restored; nil for an archive.
    public internal(set) var snapshot: String?
    /// Whether a part of an archive is damaged.
    public internal(set) var isDamaged = false
    /// Whether the extraction ended before the archive did.
    public internal(set) var isCutShort = false
    /// How many members were made without rights that ``ExtractionOptions/restoresPrivileges`` grants.
    public internal(set) var withoutPrivileges = 0
    /// Patterns that nothing matches.
    public internal(set) var unmatched: [PathBytes] = []
    /// Remarks about the archives, in sentences.
    public internal(set) var remarks: [String] = []

    init() {}

    mutating func add(_ report: ExtractionReport) {
      guard report.outcome == .extracted else { return }
      if report.kind == .file { files += 1 } else { others += 1 }
      bytes = bytes.addingReportingOverflow(report.size).partialValue
    }

    mutating func add(_ result: ExtractCall.Result) {
      let extraction = result.extraction
      isDamaged = extraction.archive.isDamaged
      isCutShort = extraction.archive.isCutShort
      withoutPrivileges = extraction.madeSafe
      unmatched = result.unmatched.map(\.glob)
      remarks = extraction.archive.remarks
      removed = extraction.removed
    }
  }

  /// Unpacks an archive of the tar family, cpio, zip or 7z.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - archive: the path of the archive.
  ///   - folder: the target folder, created if it is missing. Nothing is created outside of it.
  ///   - options: how the archive is extracted, and the resources that the call may use.
  ///   - progress: receives states until the call returns. They have totals only if the archive has an index and all members
  ///     are extracted.
  ///   - each: receives the selected files in the order of the archive, then links, and folders last; none that failed. One
  ///     call at a time, on a thread of the run. It may be slow, because the run waits for it when too many results are
  ///     pending; it must not wait for the end of the call.
  /// - Returns: the counts of the extracted members. Damaged members are among the failures.
  /// - Throws: `malformed` if the file is not an archive, `unsupported` if it is encrypted, `exhausted` if the machine does not
  ///   allow a run, `unwritable` if the folder cannot be written to.
  public static func extract(
    _ archive: some PathName, into folder: some PathName, _ options: ExtractOptions = ExtractOptions(),
    progress: Progress? = nil, each: (@Sendable (ExtractedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<ExtractedFiles> {
    let archive = try archive.pathBytes()
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: ExtractedFiles()) {
      (library) throws(BatchError) in
      let selection = MemberSelection(
        globs: options.patterns, strip: max(0, options.strippedNames), filter: options.filter)
      let call = ExtractCall(
        .archive(ReadArchive(archive == "-" ? "./-" : archive), selection, globs: options.patterns),
        into: folder, options.extraction)
      try library.extract(call, [archive], each)
    }
  }
}

extension BatchCall<Batch.ExtractedFiles> {
  /// Runs a call that creates files.
  ///
  /// - Throws: also the error of the syncs at its end.
  func extract(
    _ call: ExtractCall, _ paths: [PathBytes], _ each: (@Sendable (Batch.ExtractedFile) -> Void)?
  ) throws(BatchError) {
    let outcome = try run(call, paths) { report in
      self.note { $0.add(report) }
      each?(Batch.ExtractedFile(report))
    }
    guard let result = outcome.result else { return }
    if let refusal = result.extraction.refusal { warn(refusal) }
    note { $0.add(result) }
    if let failure = result.extraction.failure { throw failure }
  }
}
