import BatchEngine

/// A result stream that writes a file, which appears under its name when it is finished.
///
/// If the path is a character device or an open pipe, the results are written directly, and it is never replaced.
public final class OutputFile: ResultStream {
  private enum Target {
    case file(AtomicFile)
    case device(SyncDevice)
  }

  /// The path as the caller gave it.
  package let path: PathBytes
  private let target: Target
  private let isSynced: Bool
  private let isPrivate: Bool
  private let right: CommitRight

  /// Removes stale temporary files from the target's folder, and opens the temporary file.
  ///
  /// - Parameters:
  ///   - path: of the output; a character device or an open pipe is written directly.
  ///   - isReplacing: whether an existing file is replaced.
  ///   - isSynced: whether content and name are synced when ``finish()`` returns.
  ///   - isPrivate: whether only its owner may read it, regardless of the umask.
  ///   - context: the context of the collector that writes it.
  ///   - filter: changes what is written to a terminal.
  /// - Throws: when the name is taken and `isReplacing` is false, or no file can be created in the folder.
  public convenience init(
    _ path: PathBytes, isReplacing: Bool, isSynced: Bool, isPrivate: Bool = false,
    in context: CollectorContext,
    terminalFilter filter: (@Sendable ([UInt8]) -> [UInt8])? = nil
  ) throws(BatchError) {
    try self.init(
      path, isReplacing: isReplacing, isSynced: isSynced, isPrivate: isPrivate, calls: context.calls,
      cancellation: context.cancellation, terminalFilter: filter, by: context.commits)
  }

  /// Opens an output for a program that writes a file outside of its runs or beside them.
  ///
  /// The cancellation of `run` ends the wait for a slow reader.
  public convenience init(
    _ path: PathBytes, isReplacing: Bool, isSynced: Bool, isPrivate: Bool = false, in run: RunContext,
    terminalFilter filter: (@Sendable ([UInt8]) -> [UInt8])? = nil
  ) throws(BatchError) {
    try self.init(
      path, isReplacing: isReplacing, isSynced: isSynced, isPrivate: isPrivate, calls: run.calls,
      cancellation: run.cancellation, terminalFilter: filter, by: run.commits)
  }

  private init(
    _ path: PathBytes, isReplacing: Bool, isSynced: Bool, isPrivate: Bool, calls: any FileSystemCalls,
    cancellation: Cancellation, terminalFilter filter: (@Sendable ([UInt8]) -> [UInt8])?,
    by right: CommitRight
  ) throws(BatchError) {
    self.path = path
    self.isSynced = isSynced
    self.isPrivate = isPrivate
    self.right = right
    if let device = try SyncDevice(
      path, calls: calls, cancellation: cancellation, terminalFilter: filter)
    {
      target = .device(device)
    } else {
      _ = StaleTemporaries.remove(in: path.parent, calls: calls)
      target = .file(try AtomicFile(at: path, replacing: isReplacing, calls: calls))
    }
  }

  /// Refuses an output that the initializer would refuse because of an existing file; creates nothing.
  ///
  /// - Throws: when the name is taken and `isReplacing` is false, or the folder is missing and could not be created.
  public static func check(_ path: PathBytes, isReplacing: Bool, in run: RunContext) throws(BatchError) {
    guard !isDevice(path) else { return }
    try FolderMaker(calls: run.calls).checkLast(path.parent)
    do throws(BatchError) {
      let folder = try OpenFolder(of: path, calls: run.calls)
      try AtomicFile.check(path, in: folder, isReplacing: isReplacing)
    } catch {
      // A missing folder contains no file.
      guard error.isNotFound else { throw error }
    }
  }

  /// Whether a path leads to a pipe or a device, which cannot be read back.
  public static func isDevice(_ path: PathBytes) -> Bool { SyncDevice.isOne(path) }

  public var isTerminal: Bool {
    if case .device(let device) = target { device.isTerminal } else { false }
  }

  /// The bytes written so far; nil for a pipe or a device.
  ///
  /// - Throws: the error of reading the size.
  public func size() throws(BatchError) -> Int64? { try file?.size() }

  /// The temporary file's inode, for `WalkOptions/excluded`.
  public var identity: FileIdentity? { file?.identity }

  private var file: AtomicFile? {
    if case .file(let file) = target { file } else { nil }
  }

  /// Another descriptor for reading the content so far; as ``AtomicFile/openForReading(syncing:)``.
  ///
  /// - Throws: `invalid` for a pipe or a device.
  package func openForReading(syncing: Bool) throws(BatchError) -> Int32 {
    guard let file else {
      throw BatchError(.invalid, "is a pipe or a device, which cannot be read back", path: path)
    }
    return try file.openForReading(syncing: syncing)
  }

  public func write(_ bytes: [UInt8]) throws(BatchError) {
    switch target {
    case .file(let file): try file.write(bytes.span)
    case .device(let device): try device.write(bytes)
    }
  }

  /// Copies nothing to a pipe or a device; else like ``AtomicFile/append(_:of:)``.
  package func append(_ range: Range<UInt64>, of source: Int32) throws(BatchError) -> UInt64 {
    try file?.append(range, of: source) ?? 0
  }

  public func finish() throws(BatchError) {
    try finish(isPrivate ? AtomicFile.Metadata(permissions: 0o600) : AtomicFile.Metadata())
  }

  /// Finishes an output with the permissions and, if the process may set it, the owner of the file that it replaces.
  package func finish(like replaced: FileStatus) throws(BatchError) {
    try finish(AtomicFile.Metadata(of: replaced))
  }

  private func finish(_ metadata: AtomicFile.Metadata) throws(BatchError) {
    switch target {
    case .file(let file):
      try file.commit(metadata, syncing: isSynced, by: right)
    case .device(let device): try device.finish()
    }
  }

  /// Removes the temporary file.
  public func discard() {
    file?.discard()
  }
}
