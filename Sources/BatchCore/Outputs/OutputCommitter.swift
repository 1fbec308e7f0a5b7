import BatchEngine
import Dispatch
import Synchronization

/// Gives finished outputs their names in batches: one sync for all of them, the renames, the folders, and
/// only then the removal of sources.
///
/// Outputs get their names in the order in which they were finished, whatever comes before them in the tree. A batch is
/// committed while the lanes go on. Each output that is open holds a place; where none is free, what is staged is
/// committed at once. Without a sync there is nothing to wait for, and no batch. What became of an output is kept until
/// somebody asks for it.
///
/// A place is the last thing that is taken for an output: whoever waits for one may hold descriptors and memory, and
/// whoever holds one waits for neither.
final class OutputCommitter: Sendable {
  private typealias Ticket = Int

  /// What an output is known by from ``add(_:by:)`` to ``outcome(of:)``.
  enum Commitment: Sendable {
    case settled(CommitOutcome)
    case waiting(Int)
  }

  private struct Entry {
    let ticket: Ticket
    let output: Staged
    let right: CommitRight
    /// The folder that has its name, when it has one.
    var folder: OpenFolder?
  }

  private struct State {
    var staged: [Entry] = []
    /// Of the batch that is being committed.
    var committing: [PathBytes] = []
    var outcomes: [Ticket: CommitOutcome] = [:]
    var tickets = 0
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

  /// - Parameter limit: outputs that are open at once, 1 or more.
  init(limit: Int, isSynced: Bool, devices: OutputDevices, calls: any CommitCalls) {
    self.limit = max(1, limit)
    self.isSynced = isSynced
    self.devices = devices
    self.calls = calls
  }

  /// Takes a place for one more output, as soon as there is one.
  func reserve() {
    TokenOrder.place.take()
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
      Lane.whileBlocked {
        flush()
        freed.wait()
      }
    }
  }

  /// Gives back a place that no output came to need.
  func release() {
    freePlaces(1)
  }

  /// Takes a finished output; it holds its place until it is committed, which is at once where nothing is synced.
  func add(_ output: Staged, by right: CommitRight) -> Commitment {
    guard isSynced else {
      let outcome = commit(alone: output, by: right)
      freePlaces(1)
      return .settled(outcome)
    }
    let (ticket, isDue) = state.withLock { state in
      state.tickets += 1
      state.staged.append(Entry(ticket: state.tickets, output: output, right: right))
      // Half, so that lanes find places while the batch is written to the disk.
      return (state.tickets, state.staged.count >= max(1, limit / 2) || state.waiting > 0)
    }
    if isDue { queue.async { self.commit() } }
    return .waiting(ticket)
  }

  /// What became of an output, for the first who asks; nil as long as it is not committed.
  func outcome(of commitment: Commitment) -> CommitOutcome? {
    switch commitment {
    case .settled(let outcome): outcome
    case .waiting(let ticket): state.withLock { $0.outcomes.removeValue(forKey: ticket) }
    }
  }

  /// Commits everything that is staged.
  func flush() {
    queue.sync { commit() }
  }

  /// The same for a run that was stopped.
  ///
  /// - Parameter late: told of the outputs that are not committed after ``CommitCalls/patience``, in the order in which
  ///   they were finished; they are waited for all the same.
  func flushLast(late: ([PathBytes]) -> Void) {
    let end = DispatchGroup()
    queue.async(group: end) { self.commit() }
    guard end.wait(timeout: .now() + calls.patience) == .timedOut else { return }
    late(state.withLock { $0.committing + $0.staged.map(\.output.target) })
    end.wait()
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
      state.committing = state.staged.map(\.output.target)
      return state.staged
    }
    if !batch.isEmpty { commit(batch) }
  }

  /// Gives an output its name where nothing is synced.
  private func commit(alone output: Staged, by right: CommitRight) -> CommitOutcome {
    do throws(BatchError) {
      switch output {
      case .file(let file): try calls.publish(file.file, by: right)
      case .link(let link): guard try link.make(right) != nil else { return .withoutFirst }
      }
    } catch {
      output.file?.discard()
      return .failed(error)
    }
    return .committed(remaining: output.removeSource(calls, by: right))
  }

  private func commit(_ batch: [Entry]) {
    let committed = Batch(batch, devices, calls)
    committed.run()
    state.withLock { state in
      state.committing = []
      for (ticket, outcome) in committed.outcomes { state.outcomes[ticket] = outcome }
    }
    freePlaces(batch.count)
  }

  /// The steps of one batch.
  private final class Batch {
    private(set) var outcomes: [(Ticket, CommitOutcome)] = []
    private var entries: [Entry]
    private let devices: OutputDevices
    private let calls: any CommitCalls

    init(_ entries: [Entry], _ devices: OutputDevices, _ calls: any CommitCalls) {
      self.entries = entries
      self.devices = devices
      self.calls = calls
      outcomes.reserveCapacity(entries.count)
    }

    func run() {
      sync()
      publish()
      syncFolders()
      for entry in entries {
        let remaining = entry.output.removeSource(calls, by: entry.right)
        outcomes.append((entry.ticket, .committed(remaining: remaining)))
      }
    }

    private func fail(_ entry: Entry, _ error: BatchError) {
      entry.output.file?.discard()
      outcomes.append((entry.ticket, .failed(error)))
    }

    /// One sync for each file system that has outputs of the batch, or one for each output.
    private func sync() {
      var apart: [Entry] = []
      let together = entries.filter { entry in
        guard case .file(let output) = entry.output, case .each = devices.way(for: output.folder) else {
          return true
        }
        apart.append(entry)
        return false
      }
      var outcomes: [UInt64: Result<Void, BatchError>] = [:]
      entries = together.filter { entry in
        guard case .file(let output) = entry.output else { return true }
        return once(output.folder.identity.device, &outcomes, for: entry) { () throws(BatchError) in
          guard case .together(let folder) = devices.way(for: output.folder) else { return }
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
        guard case .file(let output) = entry.output else { return true }
        do throws(BatchError) {
          try calls.sync(output.file)
          return true
        } catch {
          fail(entry, error)
          return false
        }
      }
      // A link follows the output that it is made of.
      entries.sort { $0.ticket < $1.ticket }
    }

    private func publish() {
      entries = entries.compactMap { entry in
        var entry = entry
        do throws(BatchError) {
          switch entry.output {
          case .file(let output):
            try calls.publish(output.file, by: entry.right)
            entry.folder = output.folder
          case .link(let link):
            guard let folder = try link.make(entry.right) else {
              outcomes.append((entry.ticket, .withoutFirst))
              return nil
            }
            entry.folder = folder
          }
          return entry
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

    /// Takes a step once for all outputs with one key.
    ///
    /// - Returns: whether it was taken; the output has failed otherwise.
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
