import BatchEngine
import var Glibc.EEXIST

/// A folder that only its owner may enter, and that is removed with its contents.
///
/// It is locked while it is used. The kernel releases the lock when the process ends. The next process that creates such a
/// folder in the same place removes unlocked ones.
package final class TemporaryFolder {
  private static let randomLength = 6
  private static let attempts = 16

  package let path: PathBytes
  /// Its parent folder.
  private let home: OpenFolder
  private let lock: Descriptor

  /// The folder for temporary folders of the user.
  package static func place(_ environment: (String) -> PathBytes?) -> PathBytes {
    environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  /// - Parameters:
  ///   - place: the folder in which it is created.
  ///   - purpose: a part of its name.
  /// - Throws: `unwritable` when it cannot be created.
  package init(in place: PathBytes, for purpose: String, calls: any FileSystemCalls) throws(BatchError) {
    do throws(BatchError) {
      home = try FolderOpener(calls: calls).folder(named: place)
    } catch {
      throw Self.error(error.errno, place)
    }
    let prefix = Array("batchproc-\(purpose)-".utf8)
    Self.removeStale(prefix, in: home)
    for _ in 0..<Self.attempts {
      let name = Self.randomName(prefix)
      let failed = -calls.makeFolder(name, in: home.raw, permissions: 0o700)
      guard failed == 0 || failed == EEXIST else { throw Self.error(failed, place) }
      // Another process may have removed it as stale before it was locked.
      guard failed == 0, let lock = Self.lock(name, in: home) else { continue }
      path = place.appending(name.bytes)
      self.lock = lock
      return
    }
    throw BatchError(.unwritable, "cannot make a temporary folder", path: place)
  }

  deinit {
    _ = removeAll()
  }

  /// Removes the folder with its contents.
  ///
  /// - Throws: `unwritable` when something remains.
  package func remove() throws(BatchError) {
    guard let failed = removeAll() else { return }
    throw BatchError.syscall("remove all of the temporary folder", errno: failed, path: path).recoded(
      .unwritable)
  }

  /// The time that its file system stores for a given one; nil if that time cannot be set.
  func stored(_ time: FileStatus.Time) -> FileStatus.Time? {
    guard home.calls.setTimes(of: lock.raw, accessed: nil, modified: time) == 0 else { return nil }
    return (try? home.calls.status(of: lock))?.modified
  }

  /// Whether its file system stores modes.
  var storesModes: Bool {
    defer { _ = home.calls.setMode(of: lock.raw, to: 0o700) }
    return [0o1711, 0o700].allSatisfy { (mode: UInt32) in
      guard home.calls.setMode(of: lock.raw, to: mode) == 0, let status = try? home.calls.status(of: lock)
      else {
        return false
      }
      return status.mode & 0o7777 == mode
    }
  }

  private func removeAll() -> Int32? {
    TreeRemoval(calls: home.calls).remove(PathBytes(path.lastComponent), in: home.raw)
  }

  private static func error(_ number: Int32, _ place: PathBytes) -> BatchError {
    BatchError.syscall("make a temporary folder", errno: number, path: place).recoded(.unwritable)
  }

  private static func randomName(_ prefix: [UInt8]) -> PathBytes {
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    return PathBytes(prefix + (0..<randomLength).compactMap { _ in letters.randomElement() })
  }

  /// Opens and locks a folder of this user.
  ///
  /// - Returns: nil when another process has locked it, or when it is gone or belongs to another user.
  private static func lock(_ name: PathBytes, in home: OpenFolder) -> Descriptor? {
    let calls = home.calls
    guard let folder = try? home.openFile(name), calls.lock(folder.raw) == 0,
      let held = try? calls.status(of: folder), held.kind == .directory, held.isOwn,
      let named = try? home.look(at: name), named.identity == held.identity
    else { return nil }
    return folder
  }

  /// Removes the folders of runs that were killed.
  private static func removeStale(_ prefix: [UInt8], in home: OpenFolder) {
    var names: [PathBytes] = []
    try? home.calls.forEachName(in: home.raw) { name in
      if name.starts(with: prefix) { names.append(PathBytes(name)) }
    }
    for name in names where name.bytes.count == prefix.count + randomLength {
      guard let lock = lock(name, in: home) else { continue }
      TreeRemoval(calls: home.calls).remove(name, in: home.raw)
      _ = consume lock
    }
  }
}
