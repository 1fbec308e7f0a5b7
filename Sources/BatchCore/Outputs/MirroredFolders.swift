import BatchEngine
import Glibc
import Synchronization

/// The folders below the one that all outputs go to, made as they are needed.
///
/// Every one is opened below the descriptor of that folder and through no symbolic link, and stays the inode that it
/// was when it was first met. One that is made is its owner's alone until ``finish()``; then group and others get no
/// more than the source's folder gives them. One that was there and gives them more is narrowed first.
final class MirroredFolders: Sendable {
  /// One folder below the root.
  private struct Known {
    let identity: FileIdentity
    /// What a folder that was made here is given at the end.
    var made: AtomicFile.Metadata?
    /// The folder that it mirrors.
    let source: FileIdentity
  }

  private struct State {
    /// By the path below the root.
    var folders: [PathBytes: Known] = [:]
    var handles = Handles()
  }

  /// What is kept open where that is allowed.
  private struct Handles {
    var rootIdentity: FileIdentity?
    var root: OpenFolder?
    /// The next one mostly lies in it or is the same.
    var latest: (path: PathBytes, folder: OpenFolder)?
  }

  private static let slash = UInt8(ascii: "/")

  private let directory: PathBytes
  private let opener: DirectoryOpener
  private let commits: any CommitCalls
  private let isKept: Bool
  private let state = Mutex(State())

  /// - Parameters:
  ///   - directory: the folder that all outputs go to; has to exist.
  ///   - isKept: whether it may be kept open.
  init(_ directory: PathBytes, _ opener: DirectoryOpener, _ commits: any CommitCalls, isKept: Bool) {
    self.directory = directory
    self.opener = opener
    self.commits = commits
    self.isKept = isKept
  }

  /// Opens the folder for the outputs of a source's folder.
  ///
  /// - Returns: nil where it is not there.
  /// - Throws: `unwritable` where something else is in its place.
  func open(_ source: DirectoryPath) throws(BatchError) -> OpenFolder? {
    try state.withLock { state throws(BatchError) in
      let path = Self.path(of: Self.names(of: source))
      do throws(BatchError) {
        let (folder, handles) = try open(path, state.folders[path], state.handles)
        state.handles = handles
        return folder
      } catch {
        guard error.errno == ENOENT else { throw error }
        return nil
      }
    }
  }

  /// Opens the folder for outputs, and makes what is missing of the way to it.
  ///
  /// - Parameter syncs: whether names of folders in that folder are brought to the disk at once.
  func make(
    _ place: OutputPlace, syncs: (OpenFolder) throws(BatchError) -> Bool
  ) throws(BatchError) -> OpenFolder {
    let names = Self.names(of: place.directory)
    let path = Self.path(of: names)
    return try state.withLock { state throws(BatchError) in
      if let known = state.folders[path] {
        let (folder, handles) = try open(path, known, state.handles)
        state.handles = handles
        if let last = names.indices.last, known.source != place.source.identity {
          // Two folders are mirrored by one path, which gives no more than either.
          for access in try FolderAccess.of(names[last...], place, opener) where access.isInTree {
            if known.made == nil { try narrow(folder, to: access.permissions) }
            state.folders[path]?.made?.permissions &= access.permissions
          }
        }
        return folder
      }
      // The longest part of the way that is known; mostly only the last name is not.
      var count = names.count
      repeat { count -= 1 } while count > 0 && state.folders[Self.path(of: names[..<count])] == nil
      count = max(0, count)
      let start = Self.path(of: names[..<count])
      var (folder, handles) = try open(start, state.folders[start], state.handles)
      let accesses = try FolderAccess.of(names[count...], place, opener)
      for (index, access) in zip(count..., accesses) {
        let isSynced = try syncs(folder)
        let next = try make(names[index], in: folder, access)
        if next.isNew, isSynced { try commits.syncFolder(folder) }
        state.folders[Self.path(of: names[...index])] = Known(
          identity: next.identity, made: next.isNew ? access.metadata : nil, source: access.identity)
        folder = next
      }
      if isKept, !names.isEmpty { handles.latest = (path, folder) }
      state.handles = handles
      return folder
    }
  }

  /// Gives the folders that were made their owners and permissions, those below others first.
  func finish() -> [BatchError] {
    state.withLock { state in
      state.handles.latest = nil
      let made = state.folders.filter { $0.value.made != nil }
      var failures: [BatchError] = []
      for (path, known) in made.sorted(by: { $0.key.bytes.count > $1.key.bytes.count }) {
        do throws(BatchError) {
          let (folder, handles) = try open(path, known, state.handles)
          state.handles = handles
          guard let metadata = known.made else { continue }
          let failed = metadata.apply(to: folder.raw, calls: opener.calls).failed
          guard failed == 0 else {
            throw BatchError.syscall("set the permissions of the folder", errno: failed)
          }
        } catch {
          failures.append(error.recoded(.unwritable).at(shown(path)))
        }
        state.folders[path]?.made = nil
      }
      state.handles.root = nil
      state.handles.latest = nil
      return failures
    }
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

  /// - Parameter known: what was there before, which has to be there still.
  /// - Returns: the folder, and what is kept open now.
  private func open(_ path: PathBytes, _ known: Known?, _ kept: Handles) throws(BatchError)
    -> (OpenFolder, Handles)
  {
    if let latest = kept.latest, latest.path == path { return (latest.folder, kept) }
    var handles = kept
    var base = try root(kept)
    handles.rootIdentity = base.identity
    if isKept { handles.root = base }
    if path.isEmpty { return (base, handles) }
    var names = path.bytes[...]
    if let latest = kept.latest, names.starts(with: latest.path.bytes + [Self.slash]) {
      base = latest.folder
      names = names.dropFirst(latest.path.bytes.count + 1)
    }
    do throws(BatchError) {
      let folder = try opened(
        opener.open(names, below: base.raw), at: shown(path), isNew: known?.made != nil)
      guard known == nil || known?.identity == folder.identity else {
        throw BatchError(.unwritable, "was replaced by another folder during the run")
      }
      if isKept { handles.latest = (path, folder) }
      return (folder, handles)
    } catch {
      throw failure(error, path)
    }
  }

  private func failure(_ error: BatchError, _ path: PathBytes) -> BatchError {
    switch error.errno {
    case ELOOP, ENOTDIR, EXDEV:
      BatchError(
        .unwritable, "cannot be a folder for outputs: a file or a symbolic link is there or on the way to it",
        path: shown(path))
    case 0: error.at(shown(path))
    default: .output("open the folder of the output", errno: error.errno, path: shown(path))
    }
  }

  private func root(_ kept: Handles) throws(BatchError) -> OpenFolder {
    if let root = kept.root { return root }
    let root: OpenFolder
    do throws(BatchError) {
      root = try opened(opener.open(directory, followingLast: true), at: directory)
    } catch {
      throw failure(error, "")
    }
    guard kept.rootIdentity == nil || kept.rootIdentity == root.identity else {
      throw BatchError(.unwritable, "was replaced by another folder during the run", path: directory)
    }
    return root
  }

  private func opened(
    _ descriptor: consuming Descriptor, at path: PathBytes, isNew: Bool = false
  ) throws(BatchError) -> OpenFolder {
    try OpenFolder(descriptor, path: path, isNew: isNew, calls: opener.calls)
  }

  /// Makes one folder, or takes the one that is there when it may have outputs.
  private func make(
    _ name: ArraySlice<UInt8>, in folder: OpenFolder, _ access: FolderAccess
  ) throws(BatchError) -> OpenFolder {
    let path = folder.path.appending(name)
    let failed = -opener.calls.makeFolder(PathBytes(name), in: folder.raw, permissions: 0o700)
    guard failed == 0 || failed == EEXIST else {
      throw BatchError.syscall("make the folder", errno: failed, path: path).recoded(.unwritable)
    }
    let made: OpenFolder
    do throws(BatchError) {
      made = try opened(opener.open(name, below: folder.raw), at: path, isNew: failed == 0)
    } catch {
      guard [ELOOP, ENOTDIR].contains(error.errno) else { throw error.recoded(.unwritable).at(path) }
      throw BatchError.syscall("make the folder", errno: ENOTDIR, path: path).recoded(.unwritable)
    }
    if made.isNew {
      guard made.status.owner == geteuid(), made.status.mode & 0o077 == 0 else {
        throw BatchError(.unwritable, "was replaced by another folder during the run", path: path)
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
        "give the folder no more permissions than that of its sources has",
        errno: failed, path: folder.path
      ).recoded(.unwritable)
    }
  }
}
