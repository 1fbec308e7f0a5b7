import BatchEngine
import Glibc
import Synchronization

/// Keeps the names of many temporary files that are closed and wait for their final names.
protocol TemporaryFileKeeper: AnyObject, Sendable {
  /// Removes the files and refuses new ones.
  func removeAll()
}

/// The temporary files that exist at this moment, so that a run that is stopped can remove them.
package final class AtomicFileRegistry: Sendable {
  /// The registry of the process, which the path of INT and TERM empties.
  package static let shared = AtomicFileRegistry()

  /// Each name with the descriptor of its folder, which is open as long as it stands here.
  private let folders = Mutex<[TemporaryName: Int32]>([:])
  private let keepers = Mutex<[ObjectIdentifier: any TemporaryFileKeeper]>([:])
  /// Set with the lock of the folders held.
  private let closed = Atomic(false)

  package init() {}

  /// Whether ``removeAll()`` was called.
  var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// Removes every temporary file and refuses new ones: a commit that comes later fails as cancelled.
  ///
  /// To be called from a thread or a dispatch source, not inside a signal handler.
  package func removeAll() {
    folders.withLock { folders in
      closed.store(true, ordering: .releasing)
      for (name, folder) in folders { Self.unlink(name, in: folder) }
      folders = [:]
    }
    for keeper in keepers.withLock({ Array($0.values) }) { keeper.removeAll() }
  }

  /// Notes a keeper, until it is removed.
  func add(_ keeper: any TemporaryFileKeeper) {
    keepers.withLock { $0[ObjectIdentifier(keeper)] = keeper }
    if isClosed { keeper.removeAll() }
  }

  func remove(_ keeper: any TemporaryFileKeeper) {
    keepers.withLock { $0[ObjectIdentifier(keeper)] = nil }
  }

  /// Makes a file and notes its name in one step, so that ``removeAll()`` cannot come in between.
  ///
  /// - Parameter create: returns a descriptor, or the negative error number.
  /// - Returns: what `create` returned; `-ECANCELED` when the registry is closed.
  func add(_ name: TemporaryName, in folder: Int32, creating create: () -> Int) -> Int {
    folders.withLock { folders in
      guard !isClosed else { return Int(-ECANCELED) }
      let result = create()
      if result >= 0 { folders[name] = folder }
      return result
    }
  }

  /// Strikes a name off, before the folder's descriptor is closed.
  ///
  /// - Parameter unlinking: whether the file goes too.
  func remove(_ name: TemporaryName, unlinking: Bool) {
    folders.withLock { folders in
      guard let folder = folders.removeValue(forKey: name) else { return }
      if unlinking { Self.unlink(name, in: folder) }
    }
  }

  private static func unlink(_ name: TemporaryName, in folder: Int32) {
    // A file that cannot be removed is found as stale by a later run.
    _ = PathBytes(name.bytes).withCString { unlinkat(folder, $0, 0) }
  }
}
