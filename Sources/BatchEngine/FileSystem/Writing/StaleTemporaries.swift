import Glibc

/// Removes the temporary files and folders that killed runs left behind.
///
/// A ``TemporaryFile`` or ``PrivateFolder`` that is in use holds a lock, which the kernel releases when the process ends. A file is
/// stale if it has the name of a temporary file, belongs to this user, and is not locked. A folder may be shared with other
/// machines, whose locks may not be visible here: there a file of another boot must also be a day old.
package enum StaleTemporaries {
  /// The result for the stale files of one folder.
  package struct Outcome: Sendable, Hashable {
    /// The names of the files that were removed.
    package internal(set) var removed: [PathBytes] = []
    /// One error for each file that could not be examined or removed, or for the folder.
    package internal(set) var failures: [BatchError] = []
  }

  private static let secondsOfDoubt: Int64 = 86_400

  /// Removes the stale files of a folder, not of its subfolders.
  ///
  /// Reads every name of the folder and holds two descriptors meanwhile.
  @discardableResult
  package static func remove(in folder: PathBytes, calls: any FileSystemCalls) -> Outcome {
    do throws(BatchError) {
      let opened = try FolderOpener(calls: calls).folder(named: folder)
      return remove(from: opened, listing: opened, sparing: nil)
    } catch {
      return Outcome(failures: [error])
    }
  }

  /// Removes the stale files of an open folder, which may be opened with `O_PATH`.
  ///
  /// - Parameter area: contains the files of this run, which are kept. Those that are closed have no lock.
  @discardableResult
  package static func remove(in folder: OpenFolder, sparing area: StagingArea? = nil) -> Outcome {
    do throws(BatchError) {
      return remove(from: folder, listing: try folder.readable(), sparing: area)
    } catch {
      return Outcome(failures: [error.at(folder.path)])
    }
  }

  private static func remove(
    from folder: OpenFolder, listing list: OpenFolder, sparing area: StagingArea?
  ) -> Outcome {
    var outcome = Outcome()
    var names: [TemporaryName] = []
    do throws(BatchError) {
      try folder.calls.forEachName(in: list.raw) { name in
        if let name = TemporaryName(name), area?.contains(name) != true { names.append(name) }
      }
    } catch {
      outcome.failures.append(error.at(folder.path))
    }
    for name in names {
      let path = folder.path.appending(name.bytes)
      do throws(BatchError) {
        if try removeIfStale(name, in: folder, path: path) { outcome.removed.append(path) }
      } catch {
        outcome.failures.append(error)
      }
    }
    return outcome
  }

  /// Whether an unlocked file was left by a dead run.
  ///
  /// - Parameters:
  ///   - age: seconds since the last write.
  ///   - isShared: whether other machines may share the folder.
  static func isStale(
    _ name: TemporaryName, age: Int64, isShared: Bool, boot: UInt32 = TemporaryName.currentBoot
  ) -> Bool {
    !isShared || (boot != 0 && name.boot == boot) || age > secondsOfDoubt
  }

  private static func removeIfStale(
    _ name: TemporaryName, in folder: OpenFolder, path: PathBytes
  ) throws(BatchError) -> Bool {
    let calls = folder.calls
    let fileName = PathBytes(name.bytes)
    // O_NONBLOCK in case the name is a FIFO; for writing because locks over NFS need it.
    var opened = folder.open(fileName, flags: O_RDWR | O_NONBLOCK | O_NOCTTY)
    // A hard link of a read-only file, or of a running program.
    // A folder can only be opened for reading.
    if [-EACCES, -ETXTBSY, -EISDIR].contains(opened) {
      opened = folder.open(fileName, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    }
    // The file is gone or is a link: not a temporary file.
    if [-ENOENT, -ELOOP].contains(opened) { return false }
    guard opened >= 0 else { throw .syscall("open a temporary file", errno: -opened, path: path) }
    let file = Descriptor(owning: opened)
    var raw = stat()
    let looked = calls.status(of: file.raw, into: &raw)
    guard looked == 0 else { throw .syscall("look at", errno: -looked, path: path) }
    let status = FileStatus(raw)
    guard status.kind == .regular || status.kind == .directory, status.owner == geteuid() || geteuid() == 0
    else { return false }
    guard calls.lock(file.raw) == 0 else { return false }
    let (age, overflow) = Int64(time(nil)).subtractingReportingOverflow(status.modified.seconds)
    // File systems without a block device, such as network file systems, have the major number 0.
    let isShared = DeviceNumber(status.identity.device).major == 0
    guard isStale(name, age: overflow ? 0 : age, isShared: isShared) else { return false }
    // While the lock is held, only the owner of the name could have renamed the file.
    guard try folder.look(at: fileName)?.identity == status.identity else { return false }
    guard status.kind == .regular else {
      guard let failed = TreeRemoval(calls: calls).remove(fileName, in: folder.raw) else { return true }
      throw .syscall("remove a temporary folder", errno: failed, path: path)
    }
    let failed = folder.remove(fileName, by: CommitRight())
    guard failed == 0 else { throw .syscall("remove a temporary file", errno: failed, path: path) }
    return true
  }
}
