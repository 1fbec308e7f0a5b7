import BatchEngine
import Dispatch
import Synchronization
import var Glibc.ENOTDIR

/// The folders below the output directory, created when needed.
///
/// Each is opened below the descriptor of the output directory, without following symbolic links, and must remain the same
/// inode. A new folder is private to its owner until ``finish()``; then group and others get no more rights than in the
/// source's folder. An existing folder that gives them more rights is restricted first.
final class MirroredFolders: Sendable {
  private struct Known {
    let identity: FileIdentity
    /// The final metadata of a folder that was created here.
    var made: AtomicFile.Metadata?
    /// The source folder that it mirrors.
    let source: FileIdentity
  }

  private struct State {
    var root: FileIdentity?
    /// By the path below the root.
    var folders: [PathBytes: Known] = [:]
    /// Folders that a lane is creating; other lanes wait until it has finished.
    var begun: [PathBytes: DispatchGroup] = [:]
  }

  private static let slash = UInt8(ascii: "/")

  private let directory: PathBytes
  private let opener: FolderOpener
  private let commits: any CommitCalls
  private let state = Mutex(State())

  /// - Parameter directory: the output directory; must exist.
  init(_ directory: PathBytes, _ opener: FolderOpener, _ commits: any CommitCalls) {
    self.directory = directory
    self.opener = opener
    self.commits = commits
  }

  /// Opens the folder for the outputs of a source's folder.
  ///
  /// - Returns: nil if it does not exist.
  /// - Throws: `unwritable` if another kind of file has its name.
  func open(_ source: DirectoryPath) throws(BatchError) -> OpenFolder? {
    do throws(BatchError) {
      let path = Self.path(of: Self.names(of: source))
      return try open(path, state.withLock { $0.folders[path] })
    } catch {
      guard error.isNotFound else { throw error }
      return nil
    }
  }

  /// Opens the folder for outputs, and creates missing folders on the way.
  ///
  /// - Parameter syncs: whether the names of folders in that folder are synced at once.
  func make(
    _ place: OutputPlace, syncs: (OpenFolder) throws(BatchError) -> Bool
  ) throws(BatchError) -> OpenFolder {
    let names = Self.names(of: place.directory)
    let path = Self.path(of: names)
    if let known = state.withLock({ $0.folders[path] }), known.source == place.source.identity {
      return try open(path, known)
    }
    // The longest known part of the path; usually only the last name is missing.
    var count = names.count
    var known: Known?
    repeat {
      count = max(0, count - 1)
      known = state.withLock { $0.folders[Self.path(of: names[..<count])] }
    } while count > 0 && known == nil
    var folder = try open(Self.path(of: names[..<count]), known)
    for (index, access) in zip(count..., try FolderAccess.of(names[count...], place, opener)) {
      folder = try enter(names[index], Self.path(of: names[...index]), in: folder, access, syncs: syncs)
    }
    return folder
  }

  /// Sets owner and permissions of the created folders, deepest first.
  func finish() -> [BatchError] {
    let folders = state.withLock { state in
      defer { for path in state.folders.keys { state.folders[path]?.made = nil } }
      return state.folders
    }
    var failures: [BatchError] = []
    for (path, known) in folders.sorted(by: { $0.key.bytes.count > $1.key.bytes.count }) {
      guard let metadata = known.made else { continue }
      do throws(BatchError) {
        let folder = try open(path, known)
        let failed = metadata.apply(to: folder.raw, calls: opener.calls).failed
        guard failed == 0 else {
          throw BatchError.syscall("set the permissions of the folder", errno: failed)
        }
      } catch {
        failures.append(error.recoded(.unwritable).at(shown(path)))
      }
    }
    return failures
  }

  // MARK: Names

  private static func names(of source: DirectoryPath) -> [ArraySlice<UInt8>] {
    OutputNaming.mirroredNames(of: source.prefix.bytes[...])
  }

  private static func path(of names: some Sequence<ArraySlice<UInt8>>) -> PathBytes {
    PathBytes(names.joined(separator: [slash]))
  }

  private func shown(_ path: PathBytes) -> PathBytes {
    path.isEmpty ? directory : directory.appending(path.bytes)
  }

  // MARK: The target

  /// - Parameter known: the folder as it was first opened; it must be the same.
  private func open(_ path: PathBytes, _ known: Known?) throws(BatchError) -> OpenFolder {
    do throws(BatchError) {
      let root = try opener.base(named: directory)
      let first = state.withLock { state in
        if state.root == nil { state.root = root.identity }
        return state.root
      }
      guard first == root.identity else { throw Self.replaced.at(directory) }
      let folder = try opener.folder(
        path.bytes[...], below: root, shown: shown(path), isNew: known?.made != nil)
      guard known == nil || known?.identity == folder.identity else { throw Self.replaced }
      return folder
    } catch {
      let path = error.path ?? shown(path)
      guard !error.isNoFolder else {
        throw BatchError(
          .unwritable,
          "cannot be a folder for outputs: a file or a symbolic link is there or on the way to it",
          path: path)
      }
      if error.errno == 0 { throw error.at(path) }
      throw .output("open the folder of the output", errno: error.errno, path: path)
    }
  }

  private static let replaced = BatchError(.unwritable, "was replaced by another folder during the run")

  /// Creates one folder, or uses the existing one if outputs are allowed there. The first of several lanes does this.
  private func enter(
    _ name: ArraySlice<UInt8>, _ path: PathBytes, in folder: OpenFolder, _ access: FolderAccess,
    syncs: (OpenFolder) throws(BatchError) -> Bool
  ) throws(BatchError) -> OpenFolder {
    let own = DispatchGroup()
    own.enter()
    var before: DispatchGroup?
    repeat {
      if let before { BlockingWait.run { before.wait() } }
      before = state.withLock { state in
        if let begun = state.begun[path] { return begun }
        state.begun[path] = own
        return nil
      }
    } while before != nil
    defer {
      state.withLock { $0.begun[path] = nil }
      own.leave()
    }
    guard let known = state.withLock({ $0.folders[path] }) else {
      let isSynced = try syncs(folder)
      let next = try make(name, in: folder, access)
      if next.isNew, isSynced { try commits.syncFolder(folder) }
      state.withLock {
        $0.folders[path] = Known(
          identity: next.identity, made: next.isNew ? access.metadata : nil, source: access.identity)
      }
      return next
    }
    let next = try open(path, known)
    if known.source != access.identity, access.isInTree {
      // Two source folders share this mirrored folder, so it must not give more rights than either.
      if known.made == nil { try narrow(next, to: access.permissions) }
      state.withLock { $0.folders[path]?.made?.permissions &= access.permissions }
    }
    return next
  }

  /// Creates one folder, or uses the existing one if outputs are allowed there.
  private func make(
    _ name: ArraySlice<UInt8>, in folder: OpenFolder, _ access: FolderAccess
  ) throws(BatchError) -> OpenFolder {
    let path = folder.path.appending(name)
    let made: OpenFolder
    do throws(BatchError) {
      made = try opener.make(name, in: folder, shown: path)
    } catch {
      guard error.isNoFolder else { throw error.recoded(.unwritable).at(path) }
      throw BatchError.syscall("make the folder", errno: ENOTDIR, path: path).recoded(.unwritable)
    }
    if made.isNew {
      guard made.status.isOwn, made.status.mode & 0o077 == 0 else {
        throw Self.replaced.at(path)
      }
      for list in [AccessList.accessName, AccessList.defaultName] {
        let failed = AccessList.remove(list, from: made.raw, opener.calls).failed
        guard failed == 0 else {
          throw BatchError.syscall("make the folder", errno: failed, path: path).recoded(.unwritable)
        }
      }
    } else if access.isInTree {
      try narrow(made, to: access.permissions)
    }
    return made
  }

  private func narrow(_ folder: OpenFolder, to permissions: UInt32) throws(BatchError) {
    guard folder.status.mode & 0o077 & ~permissions != 0 else { return }
    var failed = AccessList.remove(AccessList.accessName, from: folder.raw, opener.calls).failed
    let mode = folder.status.mode & (0o7700 | permissions)
    if failed == 0 { failed = -opener.calls.setMode(of: folder.raw, to: mode) }
    guard failed == 0 else {
      throw BatchError.syscall(
        "give the folder no more permissions than its source folder has",
        errno: failed, path: folder.path
      ).recoded(.unwritable)
    }
  }
}
