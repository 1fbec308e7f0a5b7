import BatchEngine
import Dispatch
import Synchronization

/// What the lanes and the collector share in a run that writes one output for each source: the folders, and the completed outputs
/// of workers until the committer of the run commits them.
///
/// Each open output takes a place; if none is free, the staged outputs are committed at once. A place is the last resource
/// taken for an output: a thread that waits for a place may hold descriptors and memory, but a thread that holds a place waits
/// for neither.
package final class RunOutputs: Sendable {
  private struct State {
    weak var committer: OutputCommitter?
    var staged = 0
    var open = 0
    /// One semaphore for each thread that waits: a thread that wakes and must wait again cannot take the signal of another one.
    var waiting: [DispatchSemaphore] = []
  }

  package let options: OutputOptions
  package let folders: OutputFolders
  /// Outputs that are open at once, 1 or more.
  let limit: Int
  private let cancellation: Cancellation
  private let state = Mutex(State())

  /// - Parameter cancellation: ends the wait for a place.
  init(_ options: OutputOptions, _ folders: OutputFolders, _ cancellation: Cancellation) {
    self.options = options
    self.folders = folders
    self.cancellation = cancellation
    limit = max(1, options.staged)
    cancellation.onCancel { [weak self] in self?.release(0) }
  }

  package static func of(
    _ services: RunServices, _ options: OutputOptions, _ commits: any CommitCalls
  ) -> RunOutputs {
    services.service {
      let folders = OutputFolders(
        mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
        opener: services.folders, commits: commits)
      return RunOutputs(options, folders, services.cancellation)
    }
  }

  /// Passes everything that is staged from now on to a committer.
  func begin(_ committer: OutputCommitter) {
    state.withLock { $0.committer = committer }
  }

  /// Whether a thread waits for a place.
  var isShort: Bool { state.withLock { !$0.waiting.isEmpty } }

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
        state.withLock { $0.committer }?.flush()
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
    let (id, committer) = state.withLock { state in
      state.staged += 1
      return (state.staged, state.committer)
    }
    let output = StagedOutput(
      id: id, source: source, read: read,
      identity: source.status.linkCount > 1 ? file.identity : nil, isProved: isProved)
    committer?.take(output, file, in: place.outputFolder, from: isProved ? place.source : nil)
    return output
  }

  /// Adds an existing output that was compared with its source, which is removed when the output is on the disk.
  package func add(
    _ existing: ExistingOutput, of source: FileRecord, _ read: FileStatus, at place: OutputPlace
  ) -> StagedOutput {
    let (id, committer) = state.withLock { state in
      state.staged += 1
      return (state.staged, state.committer)
    }
    let output = StagedOutput(
      id: id, source: source, read: read,
      identity: source.status.linkCount > 1 ? existing.status.identity : nil, isProved: true)
    committer?.take(output, existing, in: place.outputFolder, from: place.source)
    return output
  }

  /// An id for an output that the collector commits in addition to those of workers.
  func nextID() -> StagedOutput.ID {
    state.withLock { state in
      state.staged += 1
      return state.staged
    }
  }
}
