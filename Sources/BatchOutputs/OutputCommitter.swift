import BatchEngine
import Dispatch
import Synchronization

/// Commits the staged outputs of a run in batches: one sync for all of them, then the renames, then a sync of the folders,
/// and only then the removal of sources. The collector of the run owns it.
///
/// Outputs are committed in the order in which they were staged, not in tree order. A batch is committed while the lanes
/// continue. Without syncs there are no batches: the thread that stages an output commits it. The result of an output is kept
/// until ``outcome(of:)`` returns it.
final class OutputCommitter: Sendable {
  private typealias ID = StagedOutput.ID

  private enum Staged {
    /// With the folder of its final name; and the folder through which its source was read, if the source is removed.
    case file(AtomicFile, StagedOutput, in: OpenFolder, from: OpenFolder?)
    case link(StagedLink)

    var target: PathBytes {
      switch self {
      case .file(let file, _, _, _): file.target
      case .link(let link): link.target
      }
    }

    func discard() {
      if case .file(let file, _, _, _) = self { file.discard() }
    }

    /// Gives the file its name, or makes the link.
    ///
    /// - Returns: the folder of the output; nil for a link whose first output does not exist.
    func publish(_ calls: any CommitCalls, by right: CommitRight) throws(BatchError) -> OpenFolder? {
      switch self {
      case .file(let file, _, let folder, _):
        try calls.publish(file, by: right)
        return folder
      case .link(let link): return try link.make(right)
      }
    }

    /// Removes the source if the options require it. A source with several names is removed after all outputs.
    ///
    /// - Returns: why it could not be removed.
    func removeSource(_ calls: any CommitCalls, by right: CommitRight) -> BatchError? {
      guard case .file(_, let output, _, let folder?) = self, output.source.status.linkCount == 1 else {
        return nil
      }
      do throws(BatchError) {
        try calls.remove(output.source, seen: output.read, in: folder, by: right)
        return nil
      } catch {
        return error
      }
    }
  }

  private struct Entry {
    let id: ID
    let output: Staged
    /// The folder of the committed output; nil before.
    var folder: OpenFolder?
  }

  private struct State {
    var staged: [Entry] = []
    /// The targets of the batch that is being committed.
    var committing: [PathBytes] = []
    var outcomes: [ID: CommitResult] = [:]
  }

  let outputs: RunOutputs
  private let isSynced: Bool
  private let devices: SyncDevices
  private let calls: any CommitCalls
  private let right: CommitRight
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "batchproc.commit")

  /// - Parameter outputs: passes its outputs to this committer from now on.
  init(
    _ outputs: RunOutputs, isSynced: Bool, devices: SyncDevices, calls: any CommitCalls,
    by right: CommitRight
  ) {
    self.outputs = outputs
    self.isSynced = isSynced
    self.devices = devices
    self.calls = calls
    self.right = right
    outputs.begin(self)
  }

  /// Adds a complete output.
  ///
  /// - Parameters:
  ///   - folder: the folder of the output's final name.
  ///   - sourceFolder: the folder through which the source was read; nil when the source stays.
  func take(
    _ output: StagedOutput, _ file: AtomicFile, in folder: OpenFolder, from sourceFolder: OpenFolder?
  ) {
    take(.file(file, output, in: folder, from: sourceFolder), as: output.id)
  }

  /// Adds a link, for which a place was reserved.
  func add(_ link: StagedLink) -> StagedOutput.ID {
    let id = outputs.nextID()
    take(.link(link), as: id)
    return id
  }

  private func take(_ output: Staged, as id: ID) {
    guard isSynced else {
      let outcome = commit(alone: output)
      state.withLock { $0.outcomes[id] = outcome }
      return outputs.release()
    }
    let count = state.withLock { state in
      state.staged.append(Entry(id: id, output: output))
      return state.staged.count
    }
    // Commits when half of the places are used, so that lanes find places while the batch is synced.
    if count >= max(1, outputs.limit / 2) || outputs.isShort { queue.async { self.commit() } }
  }

  /// The result of an output, returned once; nil until it is committed.
  func outcome(of id: StagedOutput.ID) -> CommitResult? {
    state.withLock { $0.outcomes.removeValue(forKey: id) }
  }

  /// Commits everything that is staged.
  func flush() {
    queue.sync { commit() }
  }

  /// As ``flush()``, for a run that was stopped.
  ///
  /// - Parameter late: receives the outputs that are not committed after ``CommitCalls/patience``, in the order in which they
  ///   were finished; the call still waits for them.
  func flushLast(late: ([PathBytes]) -> Void) {
    let end = DispatchGroup()
    queue.async(group: end) { self.commit() }
    guard end.wait(timeout: .now() + calls.patience) == .timedOut else { return }
    late(state.withLock { $0.committing + $0.staged.map(\.output.target) })
    end.wait()
  }

  private func commit() {
    let batch = state.withLock { state in
      defer { state.staged = [] }
      state.committing = state.staged.map(\.output.target)
      return state.staged
    }
    if !batch.isEmpty { commit(batch) }
  }

  /// Commits one output without syncing.
  private func commit(alone output: Staged) -> CommitResult {
    do throws(BatchError) {
      guard try output.publish(calls, by: right) != nil else { return .withoutFirst }
    } catch {
      output.discard()
      return .failed(error)
    }
    return .committed(remaining: output.removeSource(calls, by: right))
  }

  private func commit(_ batch: [Entry]) {
    let committed = Batch(batch, devices, calls, right)
    committed.run()
    state.withLock { state in
      state.committing = []
      for (id, outcome) in committed.outcomes { state.outcomes[id] = outcome }
    }
    outputs.release(batch.count)
  }

  /// The steps of one batch.
  private final class Batch {
    private(set) var outcomes: [(ID, CommitResult)] = []
    private var entries: [Entry]
    private let devices: SyncDevices
    private let calls: any CommitCalls
    private let right: CommitRight

    init(
      _ entries: [Entry], _ devices: SyncDevices, _ calls: any CommitCalls, _ right: CommitRight
    ) {
      self.entries = entries
      self.devices = devices
      self.calls = calls
      self.right = right
      outcomes.reserveCapacity(entries.count)
    }

    func run() {
      sync()
      publish()
      syncFolders()
      for entry in entries {
        let remaining = entry.output.removeSource(calls, by: right)
        outcomes.append((entry.id, .committed(remaining: remaining)))
      }
    }

    private func fail(_ entry: Entry, _ error: BatchError) {
      entry.output.discard()
      outcomes.append((entry.id, .failed(error)))
    }

    /// Syncs once for each file system with outputs of the batch, or once for each output.
    private func sync() {
      var apart: [Entry] = []
      let together = entries.filter { entry in
        guard case .file(_, _, let folder, _) = entry.output, case .each = devices.way(for: folder) else {
          return true
        }
        apart.append(entry)
        return false
      }
      var outcomes: [UInt64: Result<Void, BatchError>] = [:]
      entries = together.filter { entry in
        guard case .file(_, _, let target, _) = entry.output else { return true }
        return once(target.identity.device, &outcomes, for: entry) { () throws(BatchError) in
          guard case .together(let folder) = devices.way(for: target) else { return }
          do throws(BatchError) {
            try calls.syncFileSystem(through: folder)
          } catch {
            devices.distrust(folder)
            throw error
          }
        }
      }
      guard !apart.isEmpty else { return }
      entries += apart.filter { entry in
        guard case .file(let file, _, _, _) = entry.output else { return true }
        do throws(BatchError) {
          try calls.sync(file)
          return true
        } catch {
          fail(entry, error)
          return false
        }
      }
      // A link must follow the output to which it links.
      entries.sort { $0.id < $1.id }
    }

    private func publish() {
      entries = entries.compactMap { entry in
        var entry = entry
        do throws(BatchError) {
          entry.folder = try entry.output.publish(calls, by: right)
          if entry.folder != nil { return entry }
          outcomes.append((entry.id, .withoutFirst))
          return nil
        } catch {
          fail(entry, error)
          return nil
        }
      }
    }

    private func syncFolders() {
      var outcomes: [FileIdentity: Result<Void, BatchError>] = [:]
      entries = entries.filter { entry in
        guard let folder = entry.folder else { return true }
        return once(folder.identity, &outcomes, for: entry) { () throws(BatchError) in
          try calls.syncFolder(folder)
        }
      }
    }

    /// Runs a step once for all outputs with the same key.
    ///
    /// - Returns: whether the step succeeded; otherwise the output has failed.
    private func once<Key: Hashable>(
      _ key: Key, _ outcomes: inout [Key: Result<Void, BatchError>], for entry: Entry,
      _ step: () throws(BatchError) -> Void
    ) -> Bool {
      let outcome = outcomes[key] ?? Result { () throws(BatchError) in try step() }
      outcomes[key] = outcome
      guard case .failure(let error) = outcome else { return true }
      fail(entry, error.at(entry.output.target))
      return false
    }
  }
}
