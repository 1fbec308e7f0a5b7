import CLinux
import Glibc

/// Removes a folder with its contents, at any depth, with four descriptors and without recursion.
///
/// Subfolders are moved up into the top folder before their parent is removed, so that no folder is opened through another one.
/// No link is followed.
package struct TreeRemoval {
  private let calls: any FileSystemCalls

  package init(calls: any FileSystemCalls) {
    self.calls = calls
  }

  /// - Parameter folder: an open folder that contains the name.
  /// - Returns: nil when everything is removed, otherwise the first error number.
  @discardableResult
  package func remove(_ name: PathBytes, in folder: Int32) -> Int32? {
    guard let top = open(name, in: folder) else { return errno == ENOENT ? nil : errno }
    var moves = 0
    var failed: Int32?
    // Folders that were moved up in this pass are removed in the next one. A pass without progress ends the removal.
    var isAtWork = true
    while isAtWork {
      isAtWork = false
      failed = nil
      let error = forEachEntry(of: top.raw) { entry in
        if unlink(entry, in: top.raw) == nil {
          isAtWork = true
          return
        }
        if let inner = open(entry, in: top.raw) {
          let error = forEachEntry(of: inner.raw) { entry in
            let error = unlink(entry, in: inner.raw)
            if error == nil || move(entry, from: inner.raw, to: top.raw, &moves) {
              isAtWork = true
            } else {
              failed = failed ?? error
            }
          }
          failed = failed ?? error
        }
        let error = unlink(entry, in: top.raw)
        if error == nil { isAtWork = true }
        failed = failed ?? error
      }
      failed = failed ?? error
    }
    _ = consume top
    guard let last = unlink(name, in: folder) else { return nil }
    return failed ?? last
  }

  /// Removes a file or an empty folder.
  ///
  /// - Returns: nil when it is removed, otherwise the error number.
  private func unlink(_ name: PathBytes, in folder: Int32) -> Int32? {
    let failed = -calls.remove(name, in: folder)
    if failed == 0 || failed == ENOENT { return nil }
    let second = -calls.remove(name, in: folder, isFolder: true)
    if second == 0 || second == ENOENT { return nil }
    return second == ENOTDIR ? failed : second
  }

  /// Opens a folder so that it can be emptied; nil with the error number in `errno`.
  private func open(_ name: PathBytes, in folder: Int32) -> Descriptor? {
    var raw = open(name, in: folder, O_RDONLY | O_DIRECTORY)
    if raw == -EACCES, makeAccessible(name, in: folder) {
      raw = open(name, in: folder, O_RDONLY | O_DIRECTORY)
    }
    guard raw >= 0 else {
      errno = -raw
      return nil
    }
    _ = calls.setMode(of: raw, to: 0o700)
    return Descriptor(owning: raw)
  }

  private func open(_ name: PathBytes, in folder: Int32, _ flags: Int32) -> Int32 {
    name.withCString { calls.open($0, at: folder, flags: flags | O_NOFOLLOW) }
  }

  /// Gives a folder a mode that lets its owner empty it.
  private func makeAccessible(_ name: PathBytes, in folder: Int32) -> Bool {
    let raw = open(name, in: folder, clinux_o_path | O_DIRECTORY)
    guard raw >= 0 else { return false }
    let place = Descriptor(owning: raw)
    return calls.setMode(of: place.raw, to: 0o700, isPlace: true) == 0
  }

  /// - Returns: nil when `body` was called for all entries, otherwise the error number.
  private func forEachEntry(of folder: Int32, _ body: (PathBytes) -> Void) -> Int32? {
    // A new descriptor starts at the first entry.
    let own = open(".", in: folder, O_RDONLY | O_DIRECTORY)
    guard own >= 0 else { return -own }
    let list = Descriptor(owning: own)
    do throws(BatchError) {
      try calls.forEachName(in: list.raw) { body(PathBytes($0)) }
      return nil
    } catch {
      return error.errno
    }
  }

  /// Moves a folder up under a new name.
  ///
  /// - Parameter count: of the new names that were used so far.
  /// - Returns: whether it is a folder and was moved.
  private func move(_ name: PathBytes, from folder: Int32, to top: Int32, _ count: inout Int) -> Bool {
    guard (try? calls.status(of: name, in: folder))?.kind == .directory else { return false }
    while true {
      let new = PathBytes(".moved-\(count)")
      count += 1
      var failed = -calls.rename(name, in: folder, to: new, in: top)
      // A moved folder must be writable, because its `..` changes.
      if failed == EACCES, makeAccessible(name, in: folder) {
        failed = -calls.rename(name, in: folder, to: new, in: top)
      }
      if failed == 0 { return true }
      // The name is already used by an entry of the top folder.
      guard [ENOTEMPTY, EEXIST, ENOTDIR].contains(failed) else { return false }
    }
  }
}
