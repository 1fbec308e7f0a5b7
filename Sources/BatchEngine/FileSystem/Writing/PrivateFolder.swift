import Glibc

/// A folder with a temporary name that only this user may enter, in the folder of an output: another program writes its files there.
///
/// It is locked with `flock(2)` like a ``TemporaryFile``, so that ``StaleTemporaries`` of another run does not remove it. When this
/// object is released, the folder is removed with everything that is left in it.
package final class PrivateFolder: Sendable {
  private static let attempts = 16

  /// The folder that contains it.
  package let parent: OpenFolder
  /// The folder itself, open for reading.
  package let opened: OpenFolder
  private let name: TemporaryName
  private let area: StagingArea

  /// Creates the folder.
  ///
  /// - Throws: the error of creating it, without a path; `cancelled` when the area is closed.
  package init(in parent: OpenFolder, area: StagingArea = .shared) throws(BatchError) {
    self.parent = parent
    self.area = area
    let calls = parent.calls
    for _ in 0..<Self.attempts {
      let name = TemporaryName()
      let made = area.add(name, in: parent) {
        Int(calls.makeFolder(PathBytes(name.bytes), in: parent.raw, permissions: 0o700))
      }
      if made == Int(-EEXIST) { continue }
      guard made >= 0 else { throw .output("create", errno: Int32(truncatingIfNeeded: -made)) }
      let path = parent.path.appending(name.bytes)
      let raw = parent.open(PathBytes(name.bytes), flags: O_RDONLY | O_DIRECTORY)
      guard raw >= 0 else {
        area.remove(name, unlinking: true)
        throw .output("open", errno: -raw)
      }
      let file = Descriptor(owning: raw)
      // Another run may have removed the folder as stale before it was locked.
      let isLocked = calls.lock(file.raw) != -EWOULDBLOCK
      let status = try calls.status(of: file)
      guard isLocked, status.linkCount > 0, status.owner == geteuid() else {
        area.remove(name, unlinking: true)
        continue
      }
      self.name = name
      opened = OpenFolder(file, path: path, status: status, calls: calls)
      return
    }
    throw .output("create", errno: EEXIST)
  }

  deinit { area.remove(name, unlinking: true) }

  /// Removes everything in the folder.
  ///
  /// - Returns: the error number of the first entry that could not be removed; nil if none is left.
  package func empty() -> Int32? {
    var names: [PathBytes] = []
    do throws(BatchError) {
      let list = try opened.readable()
      try opened.calls.forEachName(in: list.raw) { names.append(PathBytes($0)) }
    } catch {
      return error.errno
    }
    var failed: Int32?
    for name in names where opened.remove(name, by: CommitRight()) != 0 {
      failed = TreeRemoval(calls: opened.calls).remove(name, in: opened.raw) ?? failed
    }
    return failed
  }
}
