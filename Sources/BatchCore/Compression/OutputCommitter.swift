import CLinux
import Dispatch
import Glibc
import Synchronization

/// Gives finished outputs their names in batches: one sync for all of them, the renames, the folders, and
/// only then the removal of sources.
///
/// A batch is committed while the lanes go on. Each output that is open holds a place; where none is free,
/// what is staged is committed at once.
final class OutputCommitter: Sendable {
  private struct State {
    var staged: [StagedOutput] = []
    var open = 0
    var waiting = 0
  }

  private let limit: Int
  private let isSynced: Bool
  private let state = Mutex(State())
  private let freed = DispatchSemaphore(value: 0)
  private let queue = DispatchQueue(label: "batchproc.commit")
  private let failed: @Sendable (StagedOutput, BatchError) -> Void
  private let committed: @Sendable (StagedOutput) -> Void

  /// - Parameters:
  ///   - limit: outputs that are open at once, 1 or more.
  ///   - committed: an output has its name and is safe; called on one queue.
  ///   - failed: an output has been given up, or its source could not be removed; likewise.
  init(
    limit: Int, isSynced: Bool, committed: @escaping @Sendable (StagedOutput) -> Void,
    failed: @escaping @Sendable (StagedOutput, BatchError) -> Void
  ) {
    self.limit = max(1, limit)
    self.isSynced = isSynced
    self.committed = committed
    self.failed = failed
  }

  /// Takes a place for one more output, as soon as there is one.
  func reserve() {
    while true {
      let isTaken = state.withLock { state in
        guard state.open < limit else {
          state.waiting += 1
          return false
        }
        state.open += 1
        return true
      }
      if isTaken { return }
      flush()
      freed.wait()
    }
  }

  /// Gives back a place that no output came to need.
  func release() {
    freePlaces(1)
  }

  /// Takes a finished output; it holds its place until it is committed.
  func add(_ output: StagedOutput) {
    let isDue = state.withLock { state in
      state.staged.append(output)
      // Half, so that lanes find places while the batch is written to the disk.
      return state.staged.count >= max(1, limit / 2) || state.waiting > 0
    }
    if isDue { queue.async { self.commit() } }
  }

  /// Commits everything that is staged.
  func flush() {
    queue.sync { commit() }
  }

  /// Removes what is staged, after a batch that is being committed.
  func discard() {
    queue.sync {
      let staged = state.withLock { state in
        defer { state.staged = [] }
        return state.staged
      }
      for output in staged { output.file.discard() }
      freePlaces(staged.count)
    }
  }

  private func freePlaces(_ count: Int) {
    let waiting = state.withLock { state in
      state.open -= count
      defer { state.waiting = 0 }
      return state.waiting
    }
    for _ in 0..<waiting { freed.signal() }
  }

  private func commit() {
    let batch = state.withLock { state in
      defer { state.staged = [] }
      return state.staged
    }
    guard !batch.isEmpty else { return }
    defer { freePlaces(batch.count) }
    let synced = isSynced ? sync(batch) : batch
    let named = synced.filter { output in
      attempt(output) { () throws(BatchError) in try output.file.publish() }
    }
    let safe = isSynced ? syncFolders(of: named) : named
    for output in safe {
      if output.removesSource, !attempt(output, { () throws(BatchError) in try Self.remove(output.source) }) {
        continue
      }
      committed(output)
    }
  }

  @discardableResult
  private func attempt(_ output: StagedOutput, _ body: () throws(BatchError) -> Void) -> Bool {
    do throws(BatchError) {
      try body()
      return true
    } catch {
      output.file.discard()
      failed(output, error)
      return false
    }
  }

  /// One sync for each file system that has outputs of the batch.
  private func sync(_ batch: [StagedOutput]) -> [StagedOutput] {
    var outcomes: [UInt64: BatchError?] = [:]
    return batch.filter { output in
      let device = output.file.identity?.device ?? 0
      if outcomes[device] == nil {
        do throws(BatchError) {
          try output.file.syncFileSystem()
          outcomes[device] = .some(nil)
        } catch {
          outcomes[device] = error
        }
      }
      guard case .some(.some(let error)) = outcomes[device] else { return true }
      output.file.discard()
      failed(output, error.at(output.file.target))
      return false
    }
  }

  private func syncFolders(of batch: [StagedOutput]) -> [StagedOutput] {
    var outcomes: [PathBytes: BatchError?] = [:]
    return batch.filter { output in
      let folder = output.file.target.parent
      let known = outcomes[folder]
      let error = known ?? Self.syncFolder(folder)
      outcomes[folder] = .some(error)
      guard let error else { return true }
      failed(output, error)
      return false
    }
  }

  static func syncFolder(_ folder: PathBytes) -> BatchError? {
    let number = folder.withCString { path in
      retrying { Int(clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard number >= 0 else { return .syscall("sync the folder", errno: Int32(-number), path: folder) }
    let descriptor = Descriptor(owning: Int32(number))
    let result = retrying { Int(fsync(descriptor.raw)) }
    // EINVAL: the file system has nothing to sync here.
    guard result < 0, result != -Int(EINVAL) else { return nil }
    return BatchError.syscall("sync the folder", errno: Int32(-result), path: folder).recoded(.unwritable)
  }

  /// Removes a source that is still the file that was read.
  static func remove(_ source: FileRecord) throws(BatchError) {
    let path = source.path
    var raw = stat()
    let result = path.withCString { fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }
    guard result == 0 else {
      if errno == ENOENT { return }
      throw .syscall("remove the source", errno: errno, path: path)
    }
    guard FileStatus(raw).kind != .symbolicLink else {
      throw BatchError(
        .invalid, "is a symbolic link: what it leads to was read, and both stay beside the output", path: path
      )
    }
    guard FileStatus(raw).hasSameContent(as: source.status) else {
      throw BatchError(.changed, "changed since it was read, and stays beside its output", path: path)
    }
    guard path.withCString({ unlink($0) }) == 0 else {
      throw .syscall("remove the source", errno: errno, path: path)
    }
  }
}
