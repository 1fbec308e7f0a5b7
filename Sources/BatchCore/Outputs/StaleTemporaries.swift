import BatchEngine
import CLinux
import Glibc

/// The temporary files that runs left behind which were killed.
///
/// A living ``AtomicFile`` holds a lock on its temporary file, and the kernel lets go of it when the
/// process ends in whatever way. A file is stale when it has a name that only we give, belongs to
/// this user, and its lock can be taken. Where the folder may be shared with other machines, whose locks
/// need not show here, that is not enough for a file that another boot made: it must also be a day old.
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
  package static func remove(in folder: PathBytes) -> Outcome {
    remove(in: AT_FDCWD, opening: folder, path: folder)
  }

  /// The same for a folder that is open, if only as a place.
  ///
  /// - Parameter path: for messages.
  @discardableResult
  static func remove(in folder: Int32, path: PathBytes) -> Outcome {
    remove(in: folder, opening: ".", path: path)
  }

  private static func remove(in base: Int32, opening place: PathBytes, path folder: PathBytes) -> Outcome {
    var outcome = Outcome()
    let opened = place.withCString { path in
      retrying { Int(clinux_openat(base, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard opened >= 0, let stream = fdopendir(Int32(opened)) else {
      outcome.failures.append(.syscall("open the folder", errno: Int32(max(-opened, 0)), path: folder))
      return outcome
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      guard let name = name(of: entry) else { continue }
      let path = folder.appending(name.bytes)
      do throws(BatchError) {
        if try removeIfStale(name, in: Int32(opened), path: path) { outcome.removed.append(path) }
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

  private static func name(of entry: UnsafeMutablePointer<dirent>) -> TemporaryName? {
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return nil }
    let start = UnsafeRawPointer(entry) + offset
    return TemporaryName(
      UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self))))
  }

  private static func removeIfStale(
    _ name: TemporaryName, in folder: Int32, path: PathBytes
  ) throws(BatchError) -> Bool {
    // O_NONBLOCK for a FIFO that somebody gave the name; for writing because locks need it over NFS.
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let fileName = PathBytes(name.bytes)
    let opened = fileName.withCString { file in retrying { Int(clinux_openat(folder, file, flags, 0)) } }
    // Gone, or a link: nothing of ours.
    if [Int(-ENOENT), Int(-ELOOP)].contains(opened) { return false }
    guard opened >= 0 else { throw .syscall("open a temporary file", errno: Int32(-opened), path: path) }
    let file = Descriptor(owning: Int32(opened))
    var raw = stat()
    guard fstat(file.raw, &raw) == 0 else { throw .syscall("look at", errno: errno, path: path) }
    let status = FileStatus(raw)
    guard status.kind == .regular, status.owner == geteuid() || geteuid() == 0 else { return false }
    guard retrying({ Int(flock(file.raw, LOCK_EX | LOCK_NB)) }) == 0 else { return false }
    let (age, overflow) = Int64(time(nil)).subtractingReportingOverflow(status.modified.seconds)
    guard isStale(name, age: overflow ? 0 : age, isShared: mayBeShared(status)) else { return false }
    // With the lock in hand, only the name's owner could have renamed the file in the meantime.
    var current = stat()
    let looked = fileName.withCString { fstatat(folder, $0, &current, AT_SYMLINK_NOFOLLOW) }
    guard looked == 0, FileStatus(current).identity == status.identity else { return false }
    guard fileName.withCString({ unlinkat(folder, $0, 0) }) == 0 else {
      throw .syscall("remove a temporary file", errno: errno, path: path)
    }
    return true
  }

  /// File systems without a block device have major number 0: those of the network, among others.
  private static func mayBeShared(_ status: FileStatus) -> Bool {
    let device = status.identity.device
    return (device >> 8) & 0xfff | (device >> 32) & ~0xfff == 0
  }
}
