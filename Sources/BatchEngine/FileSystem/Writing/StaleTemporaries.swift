import Glibc

/// The temporary files that killed runs left behind.
///
/// A living ``TemporaryFile`` holds a lock on its file, and the kernel releases it when the process ends in any way. A file is
/// stale when it has a name of our form, belongs to this user, and its lock is free. A folder may be shared with other
/// machines, whose locks may not be visible here: there a file of another boot must also be a day old.
package enum StaleTemporaries {
  /// What became of the stale files of one folder.
  package struct Outcome: Sendable, Hashable {
    /// The names of the files that were removed.
    package internal(set) var removed: [PathBytes] = []
    /// One error for each file, or for the folder, that could not be looked at or removed.
    package internal(set) var failures: [BatchError] = []
  }

  private static let secondsOfDoubt: Int64 = 86_400

  /// Looks through a folder, not through those in it, and removes what is stale.
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

  /// The same for a folder that is open, if only as a place.
  ///
  /// - Parameter area: knows the files of this run, which stay. Those that are closed have no lock.
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

  /// Whether a file with a free lock was left by a dead run.
  ///
  /// - Parameters:
  ///   - age: seconds since the last write.
  ///   - isShared: whether other machines may have the folder too.
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
    // A further name of a read-only file, or of a program that runs.
    if [-EACCES, -ETXTBSY].contains(opened) {
      opened = folder.open(fileName, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    }
    // Gone, or a link: nothing of ours.
    if [-ENOENT, -ELOOP].contains(opened) { return false }
    guard opened >= 0 else { throw .syscall("open a temporary file", errno: -opened, path: path) }
    let file = Descriptor(owning: opened)
    var raw = stat()
    let looked = calls.status(of: file.raw, into: &raw)
    guard looked == 0 else { throw .syscall("look at", errno: -looked, path: path) }
    let status = FileStatus(raw)
    guard status.kind == .regular, status.owner == geteuid() || geteuid() == 0 else { return false }
    guard calls.lock(file.raw) == 0 else { return false }
    let (age, overflow) = Int64(time(nil)).subtractingReportingOverflow(status.modified.seconds)
    guard isStale(name, age: overflow ? 0 : age, isShared: mayBeShared(status)) else { return false }
    // With the lock in hand, only the name's owner could have renamed the file in the meantime.
    guard try folder.look(at: fileName)?.identity == status.identity else { return false }
    let failed = folder.remove(fileName, by: CommitRight())
    guard failed == 0 else { throw .syscall("remove a temporary file", errno: failed, path: path) }
    return true
  }

  /// File systems without a block device have major number 0: those of the network, among others.
  private static func mayBeShared(_ status: FileStatus) -> Bool {
    let device = status.identity.device
    return (device >> 8) & 0xfff | (device >> 32) & ~0xfff == 0
  }
}
