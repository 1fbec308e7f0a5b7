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
    /// An output of an earlier run that contains its source.
    case existing(ExistingOutput, StagedOutput, in: OpenFolder, from: OpenFolder)
    case link(StagedLink)

    var target: PathBytes {
      switch self {
      case .file(let file, _, _, _): file.target
      case .existing(let output, _, _, _): output.target
      case .link(let link): link.target
      }
    }

    /// The folder whose file system must be synced; nil for a link.
    var folder: OpenFolder? {
      switch self {
      case .file(_, _, let folder, _), .existing(_, _, let folder, _): folder
      case .link: nil
      }
    }

    func discard() {
      if case .file(let file, _, _, _) = self { file.discard() }
    }

    /// The result if the output failed.
    func failure(_ error: BatchError) -> CommitResult {
      guard error.isOutOfSpace, case .file(_, let output, _, .some) = self else { return .failed(error) }
      return .unwritten(output.source, error)
    }

    /// Syncs the output by itself.
    func sync(_ calls: any CommitCalls) throws(BatchError) {
      switch self {
      case .file(let file, _, _, _): try calls.sync(file)
      case .existing(let output, _, _, _): try calls.sync(output)
      case .link: break
      }
    }

    /// Marks an existing output whose source is removed. A new output has its mark.
    func mark(_ calls: any CommitCalls, by right: CommitRight) throws(BatchError) {
      if case .existing(let output, _, _, _) = self { try calls.mark(output, by: right) }
    }

    /// Gives the file its name, or makes the link.
    ///
    /// - Returns: the folder of the output; nil for a link whose first output does not exist.
    func publish(_ calls: any CommitCalls, by right: CommitRight) throws(BatchError) -> OpenFolder? {
      switch self {
      case .file(let file, _, let folder, _):
        try calls.publish(file, by: right)
        return folder
      case .existing(let output, _, let folder, _):
        try output.requireUnchanged()
        return folder
      case .link(let link): return try link.make(right)
      }
    }

    /// Removes the source if the options require it. A source with several names is removed after all outputs.
    ///
    /// - Returns: why it could not be removed.
    func removeSource(_ calls: any CommitCalls, by right: CommitRight) -> BatchError? {
      let output: StagedOutput
      let folder: OpenFolder
      switch self {
      case .file(_, let staged, _, let source?), .existing(_, let staged, _, let source):
        (output, folder) = (staged, source)
      case .file, .link: return nil
      }
      guard output.source.status.linkCount == 1 else { return nil }
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
    /// The bytes of the staged outputs whose sources are removed, and when the free space is looked at again.
    var bytes: Int64 = 0
    var checked: Int64 = 0
    /// The targets of the batch that is being committed.
    var committing: [PathBytes] = []
    var outcomes: [ID: CommitResult] = [:]
    var committed = 0

    mutating func add(_ outcome: CommitResult, of id: ID) {
      outcomes[id] = outcome
      if case .committed = outcome { committed += 1 }
    }
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
    let size = isSynced && sourceFolder != nil ? (try? file.size()) ?? 0 : 0
    take(.file(file, output, in: folder, from: sourceFolder), as: output.id, size: size)
  }

  /// Adds an existing output, for which a place was reserved.
  ///
  /// - Parameters: as for a new output.
  func take(
    _ output: StagedOutput, _ existing: ExistingOutput, in folder: OpenFolder, from sourceFolder: OpenFolder
  ) {
    take(.existing(existing, output, in: folder, from: sourceFolder), as: output.id)
  }

  /// Adds a link, for which a place was reserved.
  func add(_ link: StagedLink) -> StagedOutput.ID {
    let id = outputs.nextID()
    take(.link(link), as: id)
    return id
  }

  /// - Parameter size: the bytes of an output whose source is removed.
  private func take(_ output: Staged, as id: ID, size: Int64 = 0) {
    guard isSynced else {
      let outcome = commit(alone: output)
      state.withLock { $0.add(outcome, of: id) }
      return outputs.release()
    }
    let (count, mayBeShort) = state.withLock { state in
      state.staged.append(Entry(id: id, output: output))
      state.bytes.addClamped(size)
      return (state.staged.count, size > 0 && state.bytes >= state.checked)
    }
    // Commits when half of the places are used, so that lanes find places while the batch is synced.
    let isDue = count >= max(1, outputs.limit / 2) || outputs.isShort
    if isDue || (mayBeShort && isShortOfSpace(output)) { queue.async { self.commit() } }
  }

  /// Whether the staged outputs take more space than is left, so that their sources should be removed now. Looks again when
  /// half of the difference is used.
  private func isShortOfSpace(_ output: Staged) -> Bool {
    guard let free = output.folder?.freeBytes else { return false }
    return state.withLock { state in
      guard free >= state.bytes else { return true }
      state.checked = state.bytes + (free - state.bytes) / 2
      return false
    }
  }

  /// The result of an output, returned once; nil until it is committed.
  func outcome(of id: StagedOutput.ID) -> CommitResult? {
    state.withLock { $0.outcomes.removeValue(forKey: id) }
  }

  /// How many outputs have been committed; their sources are removed, if the options require it.
  var committedCount: Int { state.withLock { $0.committed } }

  /// Commits everything that is staged.
  func flush() {
    queue.sync { commit() }
  }

  /// Commits what is waiting after a run was stopped.
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
      defer { (state.staged, state.bytes, state.checked) = ([], 0, 0) }
      state.committing = state.staged.map(\.output.target)
      return state.staged
    }
    if !batch.isEmpty { commit(batch) }
  }

  /// Commits one output without syncing.
  private func commit(alone output: Staged) -> CommitResult {
    do throws(BatchError) {
      try output.mark(calls, by: right)
      guard try output.publish(calls, by: right) != nil else { return .withoutFirst }
    } catch {
      output.discard()
      return output.failure(error)
    }
    return .committed(remaining: output.removeSource(calls, by: right))
  }

  private func commit(_ batch: [Entry]) {
    let committed = Batch(batch, devices, calls, right)
    committed.run()
    state.withLock { state in
      state.committing = []
      for (id, outcome) in committed.outcomes { state.add(outcome, of: id) }
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
      mark()
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
      outcomes.append((entry.id, entry.output.failure(error)))
    }

    private func mark() {
      entries = entries.filter { entry in
        do throws(BatchError) {
          try entry.output.mark(calls, by: right)
          return true
        } catch {
          fail(entry, error)
          return false
        }
      }
    }

    /// Syncs once for each file system with outputs of the batch, or once for each output.
    private func sync() {
      var apart: [Entry] = []
      let together = entries.filter { entry in
        guard let folder = entry.output.folder, case .each = devices.way(for: folder) else { return true }
        apart.append(entry)
        return false
      }
      var outcomes: [UInt64: Result<Void, BatchError>] = [:]
      entries = together.filter { entry in
        guard let target = entry.output.folder else { return true }
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
        do throws(BatchError) {
          try entry.output.sync(calls)
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
