import Dispatch
import Glibc
import Synchronization

/// The temporary files that exist at this moment, so that those without a final name are removed when the area is released or a
/// run is stopped.
///
/// Every area is part of ``shared``, the area of the process, which INT and TERM empty.
package final class StagingArea: Sendable {
  /// The area of the process.
  package static let shared = StagingArea(names: Names(patience: .seconds(1)))

  private let names: Names
  private let parent: StagingArea?

  private init(names: Names, parent: StagingArea? = nil) {
    self.names = names
    self.parent = parent
  }

  /// An area within another one.
  ///
  /// - Parameter patience: how long ``removeAll()`` waits for files that are being made.
  package convenience init(within parent: StagingArea = .shared, patience: DispatchTimeInterval = .seconds(1))
  {
    let names = Names(patience: patience)
    parent.names.adopt(names)
    self.init(names: names, parent: parent)
  }

  deinit {
    names.removeAll(closing: false)
    parent?.names.abandon(names)
  }

  /// Whether ``removeAll()`` was called.
  package var isClosed: Bool { names.isClosed }

  /// Removes every temporary file and refuses new ones: a name that is asked for later fails as cancelled.
  ///
  /// To be called from a thread or a dispatch source, not inside a signal handler. Waits a moment for files that are being
  /// made.
  package func removeAll() { names.removeAll(closing: true) }

  /// Removes the temporary files that there are; more may come.
  package func clear() { names.removeAll(closing: false) }

  /// Whether a name is that of a file of this area.
  package func contains(_ name: TemporaryName) -> Bool { names.contains(name) }

  /// Notes a name and makes the file.
  ///
  /// No lock is held meanwhile: on a file system that does not answer, nothing but this thread waits.
  ///
  /// - Parameter create: returns a descriptor, or the negative error number.
  /// - Returns: what `create` returned; `-ECANCELED` when the area is closed.
  package func add(_ name: TemporaryName, in folder: OpenFolder, creating create: () -> Int) -> Int {
    names.add(name, in: folder, creating: create)
  }

  /// Notes that a file was closed, and its folder with it.
  ///
  /// - Parameter reopen: opens the folder again.
  func close(_ name: TemporaryName, reopening reopen: StagedFolder) {
    names.set(name, .closed(reopen))
  }

  /// Removes a name from the notes.
  ///
  /// - Parameter unlinking: whether the file goes too.
  package func remove(_ name: TemporaryName, unlinking: Bool) {
    guard let place = names.take(name), unlinking else { return }
    Names.unlink([(name, place)])
  }

  /// Where a temporary file is.
  private enum Place: Sendable {
    case open(OpenFolder)
    case closed(StagedFolder)
  }

  private final class Names: Sendable {
    private struct State {
      var places: [TemporaryName: Place] = [:]
      var inner: [ObjectIdentifier: Names] = [:]
    }

    private let patience: DispatchTimeInterval
    private let state = Mutex(State())
    /// Set with the lock held; read without it for each file that gets its name.
    private let closed = Atomic(false)
    /// Entered while a file is made.
    private let creation = DispatchGroup()

    init(patience: DispatchTimeInterval) {
      self.patience = patience
    }

    var isClosed: Bool { closed.load(ordering: .acquiring) }

    func contains(_ name: TemporaryName) -> Bool { state.withLock { $0.places[name] != nil } }

    func adopt(_ names: Names) {
      state.withLock { $0.inner[ObjectIdentifier(names)] = names }
      if isClosed { names.removeAll(closing: true) }
    }

    func abandon(_ names: Names) { state.withLock { $0.inner[ObjectIdentifier(names)] = nil } }

    func add(_ name: TemporaryName, in folder: OpenFolder, creating create: () -> Int) -> Int {
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
      if result >= 0, !isKept { Names.unlink([(name, .open(folder))]) }
      return result
    }

    func set(_ name: TemporaryName, _ place: Place) {
      state.withLock { state in
        if state.places[name] != nil { state.places[name] = place }
      }
    }

    func take(_ name: TemporaryName) -> Place? { state.withLock { $0.places.removeValue(forKey: name) } }

    func removeAll(closing: Bool) {
      let inner = state.withLock { state in
        if closing { closed.store(true, ordering: .releasing) }
        return closing ? Array(state.inner.values) : []
      }
      if closing { _ = creation.wait(timeout: .now() + patience) }
      let places = state.withLock { state in
        defer { state.places = [:] }
        return state.places
      }
      Names.unlink(Array(places))
      for names in inner { names.removeAll(closing: true) }
    }

    /// A file that cannot be removed is found as stale by a later run.
    static func unlink(_ files: [(key: TemporaryName, value: Place)]) {
      // Folders that were closed are opened once each.
      var closed: [StagedFolder: [TemporaryName]] = [:]
      for (name, place) in files {
        switch place {
        case .open(let folder): folder.remove(PathBytes(name.bytes), by: CommitRight())
        case .closed(let folder): closed[folder, default: []].append(name)
        }
      }
      for (place, names) in closed {
        guard let folder = try? place.open() else { continue }
        for name in names { folder.remove(PathBytes(name.bytes), by: CommitRight()) }
      }
    }
  }
}

/// A folder with staged files that is closed meanwhile.
package struct StagedFolder: Hashable, Sendable {
  /// Opens folders below one that is known, through no link.
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
