import BatchEngine
import Dispatch
import Synchronization

/// Gives finished outputs their names in batches: one sync for all of them, the renames, the folders, and
/// only then the removal of sources.
///
/// A batch is committed while the lanes go on. Each output that is open holds a place; where none is free,
/// what is staged is committed at once. Without a sync there is nothing to wait for, and no batch.
final class OutputCommitter: Sendable {
  private struct State {
    var staged: [StagedOutput] = []
    var open = 0
    var waiting = 0
  }

  private let limit: Int
  private let isSynced: Bool
  private let devices: OutputDevices
  private let calls: any CommitCalls
  private let state = Mutex(State())
  private let freed = DispatchSemaphore(value: 0)
  private let queue = DispatchQueue(label: "batchproc.commit")
  private let failed: @Sendable (StagedOutput, BatchError) -> Void
  private let committed: @Sendable (StagedOutput) -> Void

  /// - Parameters:
  ///   - limit: outputs that are open at once, 1 or more.
  ///   - committed: an output has its name and is safe; called by several threads.
  ///   - failed: an output has been given up, or its source could not be removed; likewise.
  init(
    limit: Int, isSynced: Bool, devices: OutputDevices, calls: any CommitCalls = LinuxCommitCalls(),
    committed: @escaping @Sendable (StagedOutput) -> Void,
    failed: @escaping @Sendable (StagedOutput, BatchError) -> Void
  ) {
    self.limit = max(1, limit)
    self.isSynced = isSynced
    self.devices = devices
    self.calls = calls
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

  /// Takes a finished output; it holds its place until it is committed, which is at once where nothing is synced.
  func add(_ output: StagedOutput) {
    guard isSynced else {
      commit([output])
      return
    }
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
    if !batch.isEmpty { commit(batch) }
  }

  private func commit(_ batch: [StagedOutput]) {
    defer { freePlaces(batch.count) }
    let synced = isSynced ? sync(batch) : batch
    let named = synced.filter { output in
      attempt(output) { () throws(BatchError) in try calls.publish(output.file) }
    }
    let safe = isSynced ? syncFolders(of: named) : named
    for output in safe {
      let isDone = attempt(output) { () throws(BatchError) in
        guard let folder = output.removedFrom else { return }
        try calls.remove(output.source, seen: output.read, in: folder)
      }
      if isDone { committed(output) }
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

  /// One sync for each file system that has outputs of the batch, or one for each output.
  private func sync(_ batch: [StagedOutput]) -> [StagedOutput] {
    var apart: [StagedOutput] = []
    let together = batch.filter { output in
      guard case .each = devices.way(for: output.folder) else { return true }
      apart.append(output)
      return false
    }
    let synced = once(for: together, by: { $0.folder.identity.device }) { output throws(BatchError) in
      guard case .together(let folder) = devices.way(for: output.folder) else { return }
      do throws(BatchError) {
        try calls.syncFileSystem(through: folder)
      } catch {
        devices.distrust(folder)
        throw error
      }
    }
    return synced
      + apart.filter { output in
        attempt(output) { () throws(BatchError) in try calls.sync(output.file) }
      }
  }

  private func syncFolders(of batch: [StagedOutput]) -> [StagedOutput] {
    once(for: batch, by: { $0.folder.identity }) { output throws(BatchError) in
      try calls.syncFolder(output.folder)
    }
  }

  /// Takes a step once for all outputs with one key.
  ///
  /// - Returns: the outputs whose step was taken; the others have failed.
  private func once<Key: Hashable>(
    for batch: [StagedOutput], by key: (StagedOutput) -> Key,
    _ step: (StagedOutput) throws(BatchError) -> Void
  ) -> [StagedOutput] {
    var outcomes: [Key: Result<Void, BatchError>] = [:]
    return batch.filter { output in
      let key = key(output)
      let outcome =
        outcomes[key] ?? Result { () throws(BatchError) in try step(output) }
      outcomes[key] = outcome
      guard case .failure(let error) = outcome else { return true }
      output.file.discard()
      failed(output, error.at(output.file.target))
      return false
    }
  }
}
