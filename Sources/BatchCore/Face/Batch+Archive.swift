import BatchEngine
import BatchOutputs

extension Batch {
  /// How an archive is written.
  public struct ArchiveOptions: Sendable {
    public var settings = Settings()
    /// Selects the files and folders that are archived.
    public var walk = WalkOptions()
    /// The format; nil derives it from the suffix of the archive.
    public var format: ArchiveFormat?
    /// One of the levels of the format; nil for its default.
    public var level: Int?
    /// Whether a file that has the name of the archive is replaced.
    public var replacesArchive = false
    /// Equal trees become equal archives: owner and group are 0 without names, and no time is later than ``latestTime``.
    public var isReproducible = false
    /// Times that are later than this one, in seconds since 1970, are replaced by it; nil keeps all times.
    public var latestTime: Int64?
    /// Recovery data that are written beside the archive; nil for none. They replace those of an archive that is replaced.
    public var parity: ParityAmount?
    /// Syncs the archive to the disk before it gets its name.
    public var isSynced = true

    /// The defaults: the format of the archive's suffix, at its default level.
    public init() {}
  }

  /// The members of an archive that was written.
  public struct ArchivedFiles: Sendable {
    /// Regular files.
    public internal(set) var files = 0
    /// Folders, links, FIFOs and devices.
    public internal(set) var others = 0
    /// Bytes of the contents.
    public internal(set) var bytes: UInt64 = 0
    /// Bytes of the archive. Nil if no archive was made, because the task was cancelled or none of the paths could be archived.
    public internal(set) var size: Int64?

    init() {}

    /// Counts a member, unless it is incomplete.
    mutating func add(_ member: ArchivedMember) {
      guard !member.flags.contains(.incomplete) else { return }
      if member.kind == .file { files += 1 } else { others += 1 }
      bytes = bytes.addingReportingOverflow(member.size).partialValue
    }
  }

  /// Archives files and trees. The members have the given paths, without a leading slash.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - archive: the path of the archive, which appears when it is complete. A missing folder is created.
  ///   - options: how the archive is written, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the members in the order of the archive, without the facts of headers, one call at a time, on a thread
  ///     of the run. It may be slow, because the run waits for it when too many results are pending; it must not wait for the
  ///     end of the call.
  /// - Throws: `invalid` if the format is unknown or does not have the level, or if the archive exists already; `exhausted` if
  ///   the machine does not allow a run; `unwritable` if the archive cannot be written.
  public static func archive(
    _ paths: [some PathName], to archive: some PathName, _ options: ArchiveOptions = ArchiveOptions(),
    progress: Progress? = nil, each: (@Sendable (Member) -> Void)? = nil
  ) async throws(BatchError) -> Report<ArchivedFiles> {
    let paths = try paths.pathBytes()
    let archive = try archive.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: ArchivedFiles()) {
      (library) throws(BatchError) in
      guard let format = options.format ?? ArchiveFormat(suffixOf: archive) else {
        throw BatchError(.invalid, "its suffix does not name a known format", path: archive)
      }
      guard options.level.map({ format.levels?.contains($0) ?? false }) ?? true else {
        throw BatchError(.invalid, "the format \(format.name) has no such level", path: archive)
      }
      var written = BatchCore.ArchiveOptions(format: format)
      written.level = options.level
      written.isReproducible = options.isReproducible
      written.latestTime = options.latestTime
      var call = ArchiveCall(written, stride: options.settings.stride)
      call.output = .file(
        .init(archive, isReplacing: options.replacesArchive, isSynced: options.isSynced))
      call.parity = options.parity?.options
      let outcome = try library.run(call, paths, options.walk.readingAheadIfFaster) { members in
        for member in members {
          library.note { $0.add(member) }
          each?(Member(member))
        }
      }
      if let size = outcome.result?.size { library.note { $0.size = size } }
    }
  }
}
