import BatchEngine
import Synchronization

extension Batch {
  /// Which compressed files are read, and how.
  public struct CatOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are read. Below a folder, files are ignored that are compressed neither by their
    /// name nor by their content.
    public var walk = WalkOptions()
    /// The largest decompressed size of one file in bytes; nil for no limit.
    public var mostOutput: UInt64?

    /// The defaults: all compressed files, without a limit.
    public init() {}
  }

  /// Which members of an archive are read, and how.
  public struct CatMembersOptions: Sendable {
    public var settings = Settings()
    /// The same as ``ExtractOptions/patterns``.
    public var patterns: [PathBytes] = []
    /// Excludes some of these members; nil excludes none.
    public var filter: PathFilter?
    /// How large the content of the archive may be.
    public var limits = ArchiveLimits()

    /// The defaults: all members, without limits.
    public init() {}
  }

  /// The contents that were given to a closure.
  public struct DecodedContents: Sendable {
    /// All bytes that the closure has accepted.
    public internal(set) var bytes: UInt64 = 0
    /// Whether a part of the archive is damaged; false for compressed files, whose damage is among the failures.
    public internal(set) var isDamaged = false
    /// Whether reading ended before the archive did.
    public internal(set) var isCutShort = false
    /// Patterns that no member matches.
    public internal(set) var unmatched: [PathBytes] = []
    /// Remarks about the archive, in sentences.
    public internal(set) var remarks: [String] = []

    init() {}

    mutating func add(_ findings: ArchiveFindings) {
      isDamaged = findings.isDamaged
      isCutShort = findings.isCutShort
      unmatched = findings.unmatched.map(\.glob)
      remarks = findings.remarks
    }
  }

  /// Decompresses files one after the other, in the order of the tree, and gives their contents to a closure.
  ///
  /// Damage can be detected after a part of the content was given: use it only when the report has no failures.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: which files are read, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - write: receives the bytes in pieces, one call at a time, on a thread of the run, which waits for it. It must not wait for
  ///     the end of the call.
  /// - Returns: the counts. Damaged files are among the failures.
  /// - Throws: the error that `write` throws, which ends the call; `exhausted` if the machine does not allow a run.
  public static func cat(
    _ paths: [some PathName], _ options: CatOptions = CatOptions(), progress: Progress? = nil,
    _ write: @escaping @Sendable ([UInt8]) throws(BatchError) -> Void
  ) async throws(BatchError) -> Report<DecodedContents> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: DecodedContents()) {
      (library) throws(BatchError) in
      var call = CatCall(mostOutput: options.mostOutput)
      call.width = max(1, options.settings.concurrency ?? Capacity.current().concurrency)
      try library.decode(to: write) { (stream) throws(BatchError) in
        call.stream = stream
        try library.run(call, paths, options.walk.readingAheadIfFaster) { _ in }
      }
    }
  }

  /// Decodes the files of an archive one after the other, and gives their contents to a closure. Other members are ignored.
  ///
  /// Damage can be detected after a part of the content was given: use it only when the report has no failures.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - archive: the path of the archive.
  ///   - options: which members are read, and the resources that the call may use.
  ///   - progress: receives states without totals until the call returns.
  ///   - write: the same as for ``cat(_:_:progress:_:)``.
  /// - Returns: the counts. Damaged members, and a file that is not an archive, are among the failures.
  /// - Throws: the error that `write` throws, which ends the call; the error of opening the archive; `unsupported` if it is
  ///   encrypted, `exhausted` if the machine does not allow a run.
  public static func cat(
    membersOf archive: some PathName, _ options: CatMembersOptions = CatMembersOptions(),
    progress: Progress? = nil, _ write: @escaping @Sendable ([UInt8]) throws(BatchError) -> Void
  ) async throws(BatchError) -> Report<DecodedContents> {
    let archive = try archive.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: DecodedContents()) {
      (library) throws(BatchError) in
      try library.decode(to: write) { (stream) throws(BatchError) in
        let selection = MemberSelection(globs: options.patterns, filter: options.filter)
        let call = PrintCall(
          ReadArchive(archive == "-" ? "./-" : archive), selection, globs: options.patterns, options.limits,
          to: stream)
        let outcome = try library.run(call, [archive]) { _ in }
        if let findings = outcome.result { library.note { $0.add(findings) } }
      }
    }
  }
}

extension BatchCall<Batch.DecodedContents> {
  /// Runs a call that writes to a stream.
  ///
  /// - Throws: the error of the closure, if it has thrown one.
  fileprivate func decode(
    to write: @escaping @Sendable ([UInt8]) throws(BatchError) -> Void,
    _ body: (ClosureStream) throws(BatchError) -> Void
  ) throws(BatchError) {
    let stream = ClosureStream { (bytes) throws(BatchError) in
      try write(bytes)
      self.note { $0.bytes.addClamped(UInt64(bytes.count)) }
    }
    do throws(BatchError) {
      try body(stream)
    } catch {
      throw stream.failure ?? error
    }
  }
}

/// Gives what is written to a closure.
private final class ClosureStream: ResultStream {
  private let body: @Sendable ([UInt8]) throws(BatchError) -> Void
  private let state = Mutex<BatchError?>(nil)

  init(_ body: @escaping @Sendable ([UInt8]) throws(BatchError) -> Void) { self.body = body }

  /// The first error of the closure.
  var failure: BatchError? { state.withLock { $0 } }

  /// - Throws: `closedOutput` in place of the error of the closure, because the codes of other errors have meanings for the run.
  func write(_ bytes: [UInt8]) throws(BatchError) {
    if let failure { throw failure.recoded(.closedOutput) }
    do throws(BatchError) {
      try body(bytes)
    } catch {
      state.withLock { $0 = $0 ?? error }
      throw error.recoded(.closedOutput)
    }
  }

  func finish() {}
}
