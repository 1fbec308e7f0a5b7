import BatchEngine

/// The steps of one batch: one sync for all outputs, then the renames, then a sync of the folders, and only then the removal of
/// sources.
final class CommitBatch {
  private(set) var outcomes: [(id: StagedOutput.ID, result: CommitResult)] = []
  private var entries: [StagedEntry]
  private let devices: SyncDevices
  private let calls: any CommitCalls
  private let right: CommitRight
  private let syncsEachFolder: Bool

  init(
    _ entries: [StagedEntry], devices: SyncDevices, calls: any CommitCalls, by right: CommitRight,
    syncingFolders: Bool = true
  ) {
    syncsEachFolder = syncingFolders
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
    if syncsEachFolder { syncFolders() }
    for entry in entries {
      let remaining = entry.change.removeSource(calls, by: right)
      outcomes.append((entry.id, .committed(remaining: remaining)))
    }
  }

  private func fail(_ entry: StagedEntry, _ error: BatchError) {
    entry.change.discard()
    outcomes.append((entry.id, entry.change.failure(error)))
  }

  private func mark() {
    entries = entries.filter { entry in
      do throws(BatchError) {
        try entry.change.mark(calls, by: right)
        return true
      } catch {
        fail(entry, error)
        return false
      }
    }
  }

  /// Syncs once for each file system with outputs of the batch, or once for each output.
  private func sync() {
    var apart: [StagedEntry] = []
    let together = entries.filter { entry in
      guard let folder = entry.change.folder, case .each = devices.way(for: folder) else { return true }
      apart.append(entry)
      return false
    }
    var outcomes: [UInt64: Result<Void, BatchError>] = [:]
    entries = together.filter { entry in
      guard let target = entry.change.folder else { return true }
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
        try entry.change.sync(calls)
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
        entry.folder = try entry.change.publish(calls, by: right)
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
    _ key: Key, _ outcomes: inout [Key: Result<Void, BatchError>], for entry: StagedEntry,
    _ step: () throws(BatchError) -> Void
  ) -> Bool {
    let outcome = outcomes[key] ?? Result { () throws(BatchError) in try step() }
    outcomes[key] = outcome
    guard case .failure(let error) = outcome else { return true }
    fail(entry, error.at(entry.change.target))
    return false
  }
}
