import BatchEngine

extension Batch {
  /// How the entries of manifests are checked.
  public struct CheckOptions: Sendable {
    public var settings = Settings()
    /// Selects the entries that are checked, by their names and by the properties of the files.
    public var selection = WalkOptions()
    /// Where relative names begin; nil for the working directory.
    public var directory: PathBytes?
    /// The algorithm of rows that do not name one; nil derives it from the length of the digest.
    public var algorithm: DigestAlgorithm?
    /// Ignores missing files.
    public var ignoresMissing = false
    /// Ignores rows that are not valid.
    public var ignoresMalformed = false

    /// The defaults: all entries are checked, relative to the working directory.
    public init() {}
  }

  /// An entry of a manifest.
  public struct CheckedFile: Sendable, Hashable {
    /// The result of the comparison.
    public enum Result: UInt8, Sendable, Hashable {
      /// The file has the recorded digest.
      case matches
      /// The file has another digest.
      case differs
      case missing
      /// The file could not be read.
      case unreadable
    }

    /// The name in the manifest.
    public let path: PathBytes
    public let result: Result
  }

  /// The entries of manifests, by result.
  public struct CheckedFiles: Sendable {
    private var tally = CheckTally()
    /// Files whose digest differs from the recorded one, in the order of the manifests, at most ``Settings/mostListed``.
    public internal(set) var differences: [PathBytes] = []
    private var isAtEnd = false

    init() {}

    /// How many files have the recorded digest.
    public var matches: Int { tally.matches }
    /// How many files have another digest.
    public var different: Int { tally.differs }
    /// How many files are missing; 0 if ``CheckOptions/ignoresMissing`` is set.
    public var missing: Int { tally.missing }
    /// How many files could not be read.
    public var unreadable: Int { tally.unreadable }
    /// How many rows are not valid; 0 if ``CheckOptions/ignoresMalformed`` is set.
    public var malformed: Int { tally.malformed }
    /// Whether all manifests were read to their ends, at least one file has the recorded digest, and there are no other
    /// results.
    public var isVerified: Bool {
      isAtEnd && tally.matches > 0 && tally.differs + tally.missing + tally.unreadable + tally.malformed == 0
        && tally.unreadableManifests + tally.malformedManifests == 0
    }

    mutating func add(_ chunk: CheckedChunk, most: Int) {
      for finding in chunk.findings { tally.count(finding) }
      differences += chunk.different.prefix(max(0, most - differences.count))
    }

    mutating func noteEnd() { isAtEnd = true }
  }

  /// Reads the files that manifests name, and compares their digests.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - manifests: paths of manifests in any form that ``hash(_:_:progress:each:)`` or the stock tools write.
  ///   - options: how the files are checked, and the resources that the call may use.
  ///   - progress: receives states until the call returns.
  ///   - each: receives the entries in the order of the manifests, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Returns: the results. Manifests and files that cannot be read are among the failures.
  /// - Throws: `exhausted` if the machine does not allow a run.
  public static func check(
    _ manifests: [some PathName], _ options: CheckOptions = CheckOptions(), progress: Progress? = nil,
    each: (@Sendable (CheckedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<CheckedFiles> {
    let manifests = try manifests.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: CheckedFiles()) {
      (library) throws(BatchError) in
      var call = CheckCall(ManifestReader.Options(algorithm: options.algorithm), in: options.directory)
      call.ignoresMissing = options.ignoresMissing
      call.ignoresMalformed = options.ignoresMalformed
      if each != nil { call.render = { CheckedFile.append($0, $1, to: &$2) } }
      let outcome = try library.run(call, manifests, options.selection) { chunk in
        library.note { $0.add(chunk, most: library.settings.mostListed) }
        if let each { for file in chunk.rows.slices.lazy.compactMap({ CheckedFile($0) }) { each(file) } }
      }
      if outcome.result != nil { library.note { $0.noteEnd() } }
    }
  }
}

extension Batch.CheckedFile {
  /// Appends an entry as bytes; the results of a chunk are kept in this form.
  fileprivate static func append(_ entry: ManifestEntry, _ outcome: CheckOutcome, to bytes: inout [UInt8]) {
    let result: Result =
      switch outcome {
      case .matches: .matches
      case .differs: .differs
      case .missing: .missing
      case .unreadable: .unreadable
      }
    bytes.append(result.rawValue)
    bytes += entry.path.bytes
  }

  /// - Parameter row: the bytes that ``append(_:_:to:)`` makes; empty for a row that is not an entry.
  fileprivate init?(_ row: ArraySlice<UInt8>) {
    guard let result = row.first.flatMap({ Result(rawValue: $0) }) else { return nil }
    self.init(path: PathBytes(row.dropFirst()), result: result)
  }
}
