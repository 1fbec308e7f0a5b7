import BatchEngine
import BatchOutputs

extension Batch {
  /// How an archive is written.
  public struct ArchiveOptions: Sendable {
    public var settings = Settings()
    /// Which paths are archived.
    public var walk = WalkOptions()
    /// Nil goes by the suffix of the archive.
    public var format: ArchiveFormat?
    /// One of the levels of the format; nil for its default.
    public var level: Int?
    /// Whether a file that has the name of the archive is replaced.
    public var replacesArchive = false
    /// Makes equal trees into equal archives: owner and group 0 without names, no later time than ``latestTime``.
    public var isReproducible = false
    /// Later times are set back to this one, in seconds since 1970; nil keeps them.
    public var latestTime: Int64?
    /// Brings the archive to the disk before it gets its name.
    public var isSynced = true

    /// The format that the name of the archive says, at its default level.
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
    /// Bytes of the archive. Nil where there is none: the task was cancelled, or none of the paths could be archived.
    public internal(set) var size: Int64?

    init() {}

    mutating func add(_ kind: ArchiveEntry.Kind, _ size: UInt64) {
      if kind == .file { files += 1 } else { others += 1 }
      bytes = bytes.addingReportingOverflow(size).partialValue
    }
  }

  /// Puts what is below some paths into an archive, under the paths as they are given, without a leading slash.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: of files and folders.
  ///   - archive: appears when it is complete. Its folder is made where it is missing.
  ///   - options: how, and with what of the machine.
  ///   - progress: gets states until the call returns; nil for none, which saves the walk that counts.
  /// - Throws: `invalid` where the format is not known or does not have the level, and where the name of the archive is taken;
  ///   `exhausted` where the machine does not allow a run; `unwritable` where the archive cannot be written.
  public static func archive(
    _ paths: [PathBytes], to archive: PathBytes, _ options: ArchiveOptions = ArchiveOptions(),
    progress: Progress? = nil
  ) async throws(BatchError) -> Report<ArchivedFiles> {
    try await BatchCall.perform(options.settings, progress, ArchivedFiles()) { (call) throws(BatchError) in
      guard let format = options.format ?? ArchiveFormat(suffixOf: archive) else {
        throw BatchError(.invalid, "has no suffix of a format that is known", path: archive)
      }
      guard options.level.map({ format.levels?.contains($0) ?? false }) ?? true else {
        throw BatchError(.invalid, "the format \(format.name) has no such level", path: archive)
      }
      var written = BatchCore.ArchiveOptions(format: format)
      written.level = options.level
      written.isReproducible = options.isReproducible
      written.latestTime = options.latestTime
      let run = try call.makeRun(
        paths.first, stride: format.stride(count: options.settings.stride), inputs: 2,
        laneMemory: try format.memoryOfLane(level: options.level))
      var walk = options.walk.ofCall
      walk.takesEverything = true
      if let replaced = StandardStreams.identity(of: archive) { walk.excluded.insert(replaced) }
      try FolderMaker(calls: run.calls, isSynced: options.isSynced).makeLast(archive.parent)
      let file = try OutputFile(
        archive, isReplacing: options.replacesArchive, isSynced: options.isSynced, in: run)
      do throws(BatchError) {
        if let identity = file.identity { walk.excluded.insert(identity) }
        let paths = paths.asFiles
        let source = try ArchiveSource(run.tree(paths, options: walk), options: written)
        let job = ArchiveJob(written, output: file) { members in
          call.note { details in
            for member in members where !member.flags.contains(.incomplete) {
              details.add(member.kind, member.size)
            }
          }
        }
        call.start(job, over: source, in: run, count: (paths, walk)) { (result) throws(BatchError) in
          let counts = run.counters.snapshot
          guard result != nil, counts.done > 0 || counts.failed == 0 else { return file.discard() }
          do throws(BatchError) {
            let size = try file.size()
            try file.finish()
            call.note { $0.size = size }
          } catch {
            file.discard()
            throw error
          }
        }
      } catch {
        file.discard()
        throw error
      }
    }
  }
}
