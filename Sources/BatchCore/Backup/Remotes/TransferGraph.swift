import BatchEngine
import class Foundation.OperationQueue
import Synchronization

/// The transfers of a copy to a remote: one operation for each file, several of them at once.
///
/// The manifest of a snapshot depends on the files that the snapshot needs, and on the manifest before it. So each snapshot that a
/// remote lists is complete at any moment, and snapshots appear one after the other in order. When a transfer fails, those that
/// depend on it are not begun.
final class TransferGraph {
  typealias Transfer = ResultOperation<Void>

  private let set: BackupSet
  private let remote: any Remote
  private let queue = OperationQueue()
  private var all: [(file: PathBytes, transfer: Transfer)] = []
  private var transfers: [PathBytes: Transfer] = [:]
  /// The transfers before which files at the remote are removed, by these files.
  private var removals: [PathBytes: Transfer] = [:]
  private let manifests = PlannedManifests()
  private let run: RunContext
  private let stop: Int

  init(of set: BackupSet, to remote: any Remote, in run: RunContext) {
    (self.set, self.remote, self.run) = (set, remote, run)
    let most = run.options.mostConcurrency ?? run.options.concurrency
    queue.maxConcurrentOperationCount = max(
      1, min(remote.mostTransfers, most, run.options.descriptors / Self.descriptors))
    let queue = queue
    stop = run.cancellation.onCancel { queue.cancelAllOperations() }
  }

  /// Descriptors that a transfer needs.
  private static let descriptors = 8

  deinit { run.cancellation.forget(stop) }

  /// Adds the transfer of a file other than a manifest.
  ///
  /// - Parameters:
  ///   - isNew: whether the remote has no file with this name.
  ///   - outdated: files at the remote that are removed before.
  func add(_ file: PathBytes, isNew: Bool, removing outdated: [PathBytes]) {
    let (path, remote) = (set.path(file), remote)
    begin(file, removing: outdated) { transfer in
      // Recovery data of a file that could not be replaced would not belong to it.
      for case let needed as Transfer in transfer.dependencies { try needed.value() }
      for name in outdated { try remote.remove(name) }
      try remote.put(path, as: file, isNew: isNew)
    }
  }

  /// Adds the transfer of a manifest.
  ///
  /// - Parameters:
  ///   - isNew: whether the remote has no file with this name.
  ///   - files: the other files that its snapshot needs, also those that are at the remote already.
  ///   - outdated: files at the remote that are removed before.
  func add(manifest: PathBytes, isNew: Bool, after files: [PathBytes], removing outdated: [PathBytes]) {
    let needed = files.compactMap { transfers[$0] }
    let last = manifests.last.flatMap { transfers[$0] }
    manifests.append(manifest, after: needed, isNew: isNew)
    let (set, remote, manifests) = (set, remote, manifests)
    begin(manifest, after: needed + [last].compactMap { $0 }, removing: outdated) { transfer in
      for case let needed as Transfer in transfer.dependencies { try needed.value() }
      guard isNew else {
        for name in outdated { try remote.remove(name) }
        return try remote.put(set.path(manifest), as: manifest, isNew: false)
      }
      let batch = manifests.batch(from: manifest)
      guard !batch.isEmpty else { return }
      try remote.put(new: batch, from: set.directory)
      manifests.note(transferred: batch)
    }
  }

  private func begin(
    _ file: PathBytes, after needed: [Transfer] = [], removing outdated: [PathBytes],
    _ body: @escaping @Sendable (Transfer) throws -> Void
  ) {
    let transfer = Transfer(body)
    for needed in needed { transfer.addDependency(needed) }
    // The former file with this name is removed first, and not the new one.
    if let removal = removals[file] { transfer.addDependency(removal) }
    for name in outdated { removals[name] = transfer }
    all.append((file, transfer))
    transfers[file] = transfer
    queue.addOperation(transfer)
  }

  /// Waits for all transfers.
  ///
  /// - Parameter report: receives the files in the order in which they were added.
  /// - Throws: the first error in that order, when no transfer runs any more.
  func finish(_ report: (PathBytes) throws(BatchError) -> Void) throws(BatchError) {
    do throws(BatchError) {
      for (file, transfer) in all {
        transfer.waitUntilFinished()
        try transfer.value()
        try report(file)
      }
    } catch {
      cancel()
      try run.cancellation.check()
      throw error
    }
  }

  /// Cancels what was not begun, and waits for the rest.
  func cancel() {
    queue.cancelAllOperations()
    queue.waitUntilAllOperationsAreFinished()
  }
}

/// The manifests of a copy in their order. Those that are ready at the same time are transferred together, since each start of a
/// program takes time.
private final class PlannedManifests: Sendable {
  private struct Entry {
    let manifest: PathBytes
    let needed: [TransferGraph.Transfer]
    /// Whether the remote has no file with this name. Another one is transferred alone, since a file is replaced.
    let isNew: Bool
    var isTransferred = false

    var isReady: Bool {
      isNew
        && needed.allSatisfy { transfer in
          guard transfer.isFinished else { return false }
          do throws(BatchError) {
            try transfer.value()
            return true
          } catch {
            return false
          }
        }
    }
  }

  private static let mostTogether = 64

  private let entries = Mutex<[Entry]>([])

  var last: PathBytes? { entries.withLock { $0.last?.manifest } }

  func append(_ manifest: PathBytes, after needed: [TransferGraph.Transfer], isNew: Bool) {
    entries.withLock { $0.append(Entry(manifest: manifest, needed: needed, isNew: isNew)) }
  }

  /// A manifest whose turn it is, and those that follow and are ready too; empty if it was transferred already.
  func batch(from manifest: PathBytes) -> [PathBytes] {
    entries.withLock { entries in
      guard let start = entries.firstIndex(where: { $0.manifest == manifest }), !entries[start].isTransferred
      else { return [] }
      return [manifest]
        + entries[(start + 1)...].prefix(Self.mostTogether - 1).prefix(while: \.isReady).map(\.manifest)
    }
  }

  func note(transferred batch: [PathBytes]) {
    let batch = Set(batch)
    entries.withLock { entries in
      for index in entries.indices where batch.contains(entries[index].manifest) {
        entries[index].isTransferred = true
      }
    }
  }
}
