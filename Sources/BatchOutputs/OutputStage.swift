import BatchEngine
import Dispatch
import Synchronization

/// The outputs of a run that writes one for each source, between the lanes that complete them and the collector that reports
/// them.
///
/// It has two faces. A worker takes a place (``reserve(sparing:)``) and adds a complete output, which keeps the place until it is
/// committed. The collector has the ``Commits``: it adds links, commits, and takes the results.
///
/// Outputs are committed in the order in which they were staged, not in tree order, and in batches (``CommitBatch``) while the
/// lanes continue, at the latest ``CommitCalls/longestWait`` after they were staged. Without syncs there are no batches: the thread that stages an output commits it. The result of an output is
/// kept until ``Commits/outcome(of:)`` returns it.
///
/// A place is the last resource taken for an output: a thread that waits for a place may hold descriptors and memory, but a
/// thread that holds a place waits for neither. If none is free, the staged outputs are committed at once.
package final class OutputStage: Sendable {
  private struct State {
    /// Places that are taken.
    var open = 0
    /// One semaphore for each thread that waits: a thread that wakes and must wait again cannot take the signal of another one.
    var waiting: [DispatchSemaphore] = []
    var lastID = 0
    var staged: [StagedEntry] = []
    /// The bytes of the staged outputs whose sources are removed, and when the free space is looked at again.
    var bytes: Int64 = 0
    var checked: Int64 = 0
    /// The batch that is being committed.
    var committing: [StagedEntry] = []
    var outcomes: [StagedOutput.ID: CommitResult] = [:]
    var committed = 0
    /// How many batches have begun.
    var batches = 0
  }

  package let options: OutputOptions
  package let folders: OutputFolders
  /// Outputs that are open at once, 1 or more.
  private let limit: Int
  private let cancellation: Cancellation
  private let calls: any CommitCalls
  private let devices: SyncDevices
  private let right: CommitRight
  private let counters: Counters
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "batchproc.commit")

  /// - Parameter context: of the collector to which the commits belong.
  package convenience init(
    _ options: OutputOptions, _ commits: any CommitCalls = LinuxCommitCalls(), in context: CollectorContext
  ) {
    let folders = OutputFolders(
      mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
      opener: context.folders, commits: commits)
    self.init(
      options, folders, context.cancellation, calls: commits, devices: folders.devices, by: context.commits,
      counters: context.counters)
  }

  /// - Parameter cancellation: ends the wait for a place.
  init(
    _ options: OutputOptions, _ folders: OutputFolders, _ cancellation: Cancellation,
    calls: any CommitCalls, devices: SyncDevices, by right: CommitRight, counters: Counters = Counters()
  ) {
    self.counters = counters
    self.options = options
    self.folders = folders
    self.cancellation = cancellation
    self.calls = calls
    self.devices = devices
    self.right = right
    limit = max(1, options.staged)
    cancellation.onCancel { [weak self] in self?.release(0) }
  }

  // MARK: For workers

  /// Takes a place for one more output; waits until one is free.
  ///
  /// - Parameter spare: how many places must stay free, if there is more than one place. For a large output, which stays open
  ///   while lanes finish small ones.
  /// - Throws: the reason, when the run stops before a place is free.
  package func reserve(sparing spare: Int = 0) throws(BatchError) {
    TokenOrder.place.take()
    let most = max(1, limit - spare)
    let freed = DispatchSemaphore(value: 0)
    while true {
      let isTaken = state.withLock { state in
        guard state.open < most else {
          state.waiting.append(freed)
          return false
        }
        state.open += 1
        return true
      }
      if isTaken { return }
      try cancellation.check()
      BlockingWait.run {
        flush()
        freed.wait()
      }
    }
  }

  /// Gives back places of outputs that were committed or dropped.
  package func release(_ count: Int = 1) {
    let waiting = state.withLock { state in
      state.open -= count
      defer { state.waiting = [] }
      return state.waiting
    }
    for freed in waiting { freed.signal() }
  }

  /// Adds a complete output, which keeps its place until it is committed.
  ///
  /// - Parameters:
  ///   - read: the status of the source when it was read.
  ///   - isProved: whether the output was read back and compared, which is required before its source is removed.
  /// - Returns: its value in the rows of the run.
  package func add(
    _ file: AtomicFile, of source: FileRecord, _ read: FileStatus, at place: OutputPlace, isProved: Bool
  ) -> StagedOutput {
    let output = StagedOutput(
      id: nextID(), source: source, read: read,
      identity: source.status.linkCount > 1 ? file.identity : nil, isProved: isProved)
    let size = options.isSynced && isProved ? (try? file.size()) ?? 0 : 0
    add(.file(file, output, in: place.outputFolder, from: isProved ? place.source : nil), output.id, size)
    return output
  }

  /// Adds a complete file whose source stays.
  ///
  /// - Parameter folder: that of its final name.
  package func add(_ file: AtomicFile, in folder: OpenFolder) -> StagedOutput.ID {
    let id = nextID()
    add(.copy(file, in: folder), id)
    return id
  }

  /// Adds an existing output that was compared with its source, which is removed when the output is on the disk.
  package func add(
    _ existing: ExistingOutput, of source: FileRecord, _ read: FileStatus, at place: OutputPlace
  ) -> StagedOutput {
    let output = StagedOutput(
      id: nextID(), source: source, read: read,
      identity: source.status.linkCount > 1 ? existing.status.identity : nil, isProved: true)
    add(.existing(existing, output, in: place.outputFolder, from: place.source), output.id)
    return output
  }

  // MARK: For the collector

  /// The commits of a stage, for the collector of the run.
  package struct Commits {
    fileprivate let stage: OutputStage

    /// Adds a link, for which a place was reserved.
    func add(_ link: StagedLink) -> StagedOutput.ID {
      let id = stage.nextID()
      stage.add(.link(link), id)
      return id
    }

    /// The result of an output, returned once; nil until it is committed.
    package func outcome(of id: StagedOutput.ID) -> CommitResult? {
      let outcome = stage.state.withLock { $0.outcomes.removeValue(forKey: id) }
      if outcome != nil { stage.counters.addStaged(-1) }
      return outcome
    }

    /// How many outputs have been committed; their sources are removed, if the options require it.
    var count: Int { stage.state.withLock { $0.committed } }

    /// Commits everything that is staged.
    package func flush() { stage.flush() }

    /// As ``flush()``, for a run that was stopped.
    ///
    /// - Parameter late: receives the outputs that are not committed after ``CommitCalls/patience``, in the order in which they
    ///   were finished; the call still waits for them.
    package func flushLast(late: ([PathBytes]) -> Void) {
      let end = DispatchGroup()
      let stage = stage
      stage.queue.async(group: end) { stage.commit() }
      guard end.wait(timeout: .now() + stage.calls.patience) == .timedOut else { return }
      late(stage.state.withLock { ($0.committing + $0.staged).map(\.change.target) })
      end.wait()
    }
  }

  package func commits(by right: CommitRight) -> Commits { Commits(stage: self) }

  // MARK: Committing

  private func nextID() -> StagedOutput.ID {
    state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
  }

  /// - Parameter size: the bytes of an output whose source is removed.
  private func add(_ change: StagedChange, _ id: StagedOutput.ID, _ size: Int64 = 0) {
    counters.addStaged(1)
    guard options.isSynced else {
      let outcome = change.commit(calls, by: .unsyncedOutput)
      state.withLock { state in
        state.outcomes[id] = outcome
        if case .committed = outcome { state.committed += 1 }
      }
      return release()
    }
    let (count, batch, isShort, mayBeFull) = state.withLock { state in
      state.staged.append(StagedEntry(id: id, change: change))
      state.bytes.addClamped(size)
      return (
        state.staged.count, state.batches, !state.waiting.isEmpty, size > 0 && state.bytes >= state.checked
      )
    }
    if count == 1 {
      queue.asyncAfter(deadline: .now() + calls.longestWait) { [weak self] in self?.commit(ifNoneSince: batch)
      }
    }
    // Commits when half of the places are used, so that lanes find places while the batch is synced.
    let isDue = count >= max(1, limit / 2) || isShort
    if isDue || (mayBeFull && isShortOfSpace(change)) { queue.async { self.commit() } }
  }

  /// Whether the staged outputs take more space than is left, so that their sources should be removed now. Looks again when
  /// half of the difference is used.
  private func isShortOfSpace(_ change: StagedChange) -> Bool {
    guard let free = change.folder?.freeBytes else { return false }
    return state.withLock { state in
      guard free >= state.bytes else { return true }
      state.checked = state.bytes + (free - state.bytes) / 2
      return false
    }
  }

  private func flush() {
    queue.sync { commit() }
  }

  /// Commits what is staged if no batch has begun since. Called on the queue.
  private func commit(ifNoneSince batches: Int) {
    if state.withLock({ $0.batches == batches }) { commit() }
  }

  /// Commits everything that is staged. Called on the queue.
  private func commit() {
    let batch = state.withLock { state in
      state.batches += 1
      defer { (state.staged, state.bytes, state.checked) = ([], 0, 0) }
      state.committing = state.staged
      return state.staged
    }
    guard !batch.isEmpty else { return }
    let committed = CommitBatch(
      batch, devices: devices, calls: calls, by: right, syncingFolders: options.syncsFolders)
    committed.run()
    state.withLock { state in
      state.committing = []
      for (id, result) in committed.outcomes {
        state.outcomes[id] = result
        if case .committed = result { state.committed += 1 }
      }
    }
    release(batch.count)
  }
}
