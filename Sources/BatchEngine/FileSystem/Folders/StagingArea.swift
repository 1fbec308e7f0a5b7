import Dispatch
import Glibc
import Synchronization

/// The temporary files and folders that exist now. They are removed when the area is released or a run is stopped.
///
/// Every area is part of ``shared``, the area of the process, which INT and TERM empty.
package final class StagingArea: Sendable {
  private enum Place: Sendable {
    case open(OpenFolder)
    case closed(StagedFolder)
  }

  private struct Inner {
    weak var area: StagingArea?
  }

  private struct State {
    var places: [TemporaryName: Place] = [:]
    var inner: [ObjectIdentifier: Inner] = [:]
  }

  package static let shared = StagingArea(in: nil, patience: .seconds(1))

  private let parent: StagingArea?
  private let patience: DispatchTimeInterval
  private let state = Mutex(State())
  /// Set with the lock held; read without the lock for each file that is committed.
  private let closed = Atomic(false)
  /// Entered while a file is created.
  private let creation = DispatchGroup()

  private init(in parent: StagingArea?, patience: DispatchTimeInterval) {
    self.parent = parent
    self.patience = patience
  }

  /// An area within another one.
  ///
  /// - Parameter patience: how long ``removeAll()`` waits for files that are being made.
  package convenience init(within parent: StagingArea = .shared, patience: DispatchTimeInterval = .seconds(1))
  {
    self.init(in: parent, patience: patience)
    parent.state.withLock { $0.inner[ObjectIdentifier(self)] = Inner(area: self) }
    if parent.isClosed { removeAll() }
  }

  deinit {
    clear()
    parent?.state.withLock { $0.inner[ObjectIdentifier(self)] = nil }
  }

  /// Whether ``removeAll()`` was called.
  package var isClosed: Bool { closed.load(ordering: .acquiring) }

  /// Removes every temporary file and refuses new ones: a later request fails as cancelled.
  ///
  /// Called from a thread or a dispatch source, not inside a signal handler. Waits a short time for files that are being
  /// created.
  package func removeAll() {
    let inner = state.withLock { state in
      closed.store(true, ordering: .releasing)
      return state.inner.values.compactMap(\.area)
    }
    _ = creation.wait(timeout: .now() + patience)
    clear()
    for area in inner { area.removeAll() }
  }

  /// Removes the existing temporary files; new ones may follow.
  package func clear() {
    let places = state.withLock { state in
      defer { state.places = [:] }
      return state.places
    }
    Self.unlink(Array(places))
  }

  package func contains(_ name: TemporaryName) -> Bool { state.withLock { $0.places[name] != nil } }

  /// Records a name and creates the file.
  ///
  /// No lock is held meanwhile: if a file system does not respond, only this thread waits.
  ///
  /// - Parameter create: returns a descriptor, or the negative error number.
  /// - Returns: what `create` returned; `-ECANCELED` when the area is closed.
  package func add(_ name: TemporaryName, in folder: OpenFolder, creating create: () -> Int) -> Int {
    let isRefused = state.withLock { state in
      if isClosed { return true }
      state.places[name] = .open(folder)
      creation.enter()
      return false
    }
    guard !isRefused else { return Int(-ECANCELED) }
    defer { creation.leave() }
    let result = create()
    let isKept = state.withLock { state in
      if result < 0 { state.places[name] = nil }
      return !isClosed
    }
    if result >= 0, !isKept { Self.unlink([(name, .open(folder))]) }
    return result
  }

  /// Records that a file and its folder were closed.
  ///
  /// - Parameter reopen: opens the folder again.
  func close(_ name: TemporaryName, reopening reopen: StagedFolder) {
    state.withLock { state in
      if state.places[name] != nil { state.places[name] = .closed(reopen) }
    }
  }

  /// Removes the record of a name.
  ///
  /// - Parameter unlinking: whether the file is removed too.
  package func remove(_ name: TemporaryName, unlinking: Bool) {
    let place = state.withLock { $0.places.removeValue(forKey: name) }
    if let place, unlinking { Self.unlink([(name, place)]) }
  }

  /// If a file cannot be removed, a later run finds and removes it as stale.
  private static func unlink(_ files: [(key: TemporaryName, value: Place)]) {
    // Each closed folder is opened once.
    var closed: [StagedFolder: [TemporaryName]] = [:]
    for (name, place) in files {
      switch place {
      case .open(let folder): remove(name, in: folder)
      case .closed(let folder): closed[folder, default: []].append(name)
      }
    }
    for (place, names) in closed {
      guard let folder = try? place.open() else { continue }
      for name in names { remove(name, in: folder) }
    }
  }

  /// Removes a file, or a folder with everything in it.
  private static func remove(_ name: TemporaryName, in folder: OpenFolder) {
    guard folder.remove(PathBytes(name.bytes), by: CommitRight()) == EISDIR else { return }
    let removal = TreeRemoval(calls: folder.calls)
    // A call may have failed for a reason that is gone, such as too many open files.
    if removal.remove(PathBytes(name.bytes), in: folder.raw) != nil {
      removal.remove(PathBytes(name.bytes), in: folder.raw)
    }
  }
}

/// A folder that contains staged files but is closed for now.
package struct StagedFolder: Hashable, Sendable {
  /// Opens folders below a known one, without following links.
  package protocol Opener: AnyObject, Sendable {
    func openFolder(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder
  }

  let opener: any Opener
  let path: ArraySlice<UInt8>

  package init(_ path: ArraySlice<UInt8>, below opener: any Opener) {
    self.opener = opener
    self.path = path
  }

  func open() throws(BatchError) -> OpenFolder { try opener.openFolder(path) }

  package static func == (left: StagedFolder, right: StagedFolder) -> Bool {
    left.opener === right.opener && left.path == right.path
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
