import CLinux
import Glibc

/// A system call that changes a file system. All of them pass through ``FileSystemCalls/change(_:_:_:)``, where a test can
/// inject a fault.
package enum FileChange: Hashable, Sendable {
  case create, makeFolder, makeNode, makeSymbolicLink
  case link, rename, remove
  case write, resize, share
  case setOwner, setMode, setTimes, setAttribute
  case sync, syncFileSystem, lock
}

/// The target of a change: a name in a folder, or an open file.
package enum FileChangePlace {
  case name(UnsafePointer<CChar>)
  case descriptor(Int32)
}

/// The calls that change files. Each returns 0 or more, or the negative error number, and is retried after a signal.
///
/// A name is relative to the folder of the descriptor. A symbolic link is not followed.
extension FileSystemCalls {
  @inline(__always)
  package func change(_ change: FileChange, _ place: FileChangePlace, _ call: () -> Int) -> Int {
    noted(call)
  }

  // MARK: Names

  /// Creates a file, or opens it if `flags` allow that.
  ///
  /// - Parameter permissions: reduced by the umask, or by the folder's default access control list.
  /// - Returns: the descriptor.
  package func create(
    _ name: PathBytes, in folder: Int32 = AT_FDCWD, flags: Int32 = O_RDWR | O_CREAT | O_EXCL,
    permissions: UInt32
  ) -> Int {
    name.withCString { name in
      change(.create, .name(name)) {
        retrying { Int(clinux_openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, permissions)) }
      }
    }
  }

  /// Opens a file to change it in place, not through a link. A missing file is created for its owner only.
  ///
  /// - Parameters:
  ///   - folder: the descriptor of the folder in which the path begins.
  ///   - appending: whether writes append to the file.
  package func openToChange(
    _ path: PathBytes, in folder: Int32 = AT_FDCWD, appending: Bool = false
  ) throws(BatchError) -> Descriptor {
    let opened = create(
      path, in: folder, flags: O_RDWR | O_CREAT | O_NONBLOCK | (appending ? O_APPEND : 0), permissions: 0o600)
    guard opened >= 0 else {
      throw .syscall("open", errno: Int32(truncatingIfNeeded: -opened), path: path)
    }
    return Descriptor(owning: Int32(truncatingIfNeeded: opened))
  }

  package func makeFolder(_ name: PathBytes, in folder: Int32 = AT_FDCWD, permissions: UInt32) -> Int32 {
    changed(.makeFolder, name) { Int(mkdirat(folder, $0, permissions)) }
  }

  /// Creates a FIFO or a device.
  package func makeNode(
    _ name: PathBytes, in folder: Int32, kind: FileStatus.Kind, permissions: UInt32, major: UInt32,
    minor: UInt32
  ) -> Int32 {
    changed(.makeNode, name) { Int(clinux_mknodat(folder, $0, kind.mode | permissions, major, minor)) }
  }

  package func makeSymbolicLink(_ name: PathBytes, in folder: Int32, to target: PathBytes) -> Int32 {
    target.withCString { target in changed(.makeSymbolicLink, name) { Int(symlinkat(target, folder, $0)) } }
  }

  /// Creates a hard link in another folder.
  package func link(
    _ old: PathBytes, in folder: Int32, as name: PathBytes, in target: Int32
  ) -> Int32 {
    old.withCString { old in changed(.link, name) { Int(linkat(folder, old, target, $0, 0)) } }
  }

  /// Gives an open file a name, even if it has none yet.
  package func link(_ file: Int32, as name: PathBytes, in folder: Int32) -> Int32 {
    changed(.link, name) { Int(clinux_link_descriptor(file, folder, $0)) }
  }

  /// Renames, and replaces the file that has the new name.
  package func rename(
    _ old: PathBytes, in folder: Int32, to name: PathBytes, in target: Int32
  ) -> Int32 {
    old.withCString { old in changed(.rename, name) { Int(renameat(folder, old, target, $0)) } }
  }

  /// Renames unless the new name exists (`-EEXIST`); atomically if the file system supports that.
  package func renameKeeping(
    _ old: PathBytes, in folder: Int32, to name: PathBytes, in target: Int32
  ) -> Int32 {
    let flags = UInt32(bitPattern: clinux_rename_noreplace)
    let refused = old.withCString { old in
      changed(.rename, name) { Int(clinux_renameat2(folder, old, target, $0, flags)) }
    }
    guard Self.isUnknown(refused) else { return refused }
    // link(2) fails when the name is taken; the old name is removed afterwards.
    let linked = link(old, in: folder, as: name, in: target)
    if linked == 0 {
      _ = remove(old, in: folder)
      return 0
    }
    guard Self.isUnknown(linked) || linked == -EPERM || linked == -EMLINK else { return linked }
    // Neither call is supported, for example on FAT: the name is only checked before the rename.
    let isTaken = (try? status(of: name, in: target)) != nil
    return isTaken ? -EEXIST : rename(old, in: folder, to: name, in: target)
  }

  /// Removes the name of a file, or of an empty folder if `isFolder` is true.
  package func remove(_ name: PathBytes, in folder: Int32 = AT_FDCWD, isFolder: Bool = false) -> Int32 {
    changed(.remove, name) { Int(unlinkat(folder, $0, isFolder ? AT_REMOVEDIR : 0)) }
  }

  // MARK: Content

  /// Appends bytes, or writes them at an offset.
  ///
  /// - Returns: 0 when all are written.
  package func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: off_t? = nil) -> Int32 {
    var rest = bytes
    while !rest.isEmpty {
      var place: off_t?
      if let offset {
        let (sum, isTooFar) = offset.addingReportingOverflow(off_t(bytes.count - rest.count))
        if isTooFar { return -EFBIG }
        place = sum
      }
      let count = change(.write, .descriptor(file)) {
        retrying {
          if let place { return pwrite(file, rest.baseAddress, rest.count, place) }
          return Glibc.write(file, rest.baseAddress, rest.count)
        }
      }
      // A write to a regular file never returns 0; retrying could loop forever.
      guard count > 0 else { return count == 0 ? -EIO : Int32(truncatingIfNeeded: count) }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return 0
  }

  /// Appends a part of another file inside the kernel (`copy_file_range(2)`).
  ///
  /// - Returns: how many bytes were copied, 0 if the range is beyond the end, or the negative error number.
  package func append(_ range: Range<UInt64>, of source: Int32, to file: Int32) -> Int {
    copied {
      change(.write, .descriptor(file)) {
        retrying { clinux_copy_range(source, range.lowerBound, file, min(UInt64(range.count), largestCopy)) }
      }
    }
  }

  /// Copies a part of a file to the same offset of another one inside the kernel (`copy_file_range(2)`).
  ///
  /// - Returns: how many bytes were copied, 0 if the range is beyond the end, or the negative error number.
  package func copy(_ range: Range<UInt64>, of source: Int32, to file: Int32) -> Int {
    copied {
      change(.write, .descriptor(file)) {
        retrying {
          clinux_copy_range_to(
            source, range.lowerBound, file, range.lowerBound, min(UInt64(range.count), largestCopy))
        }
      }
    }
  }

  private func copied(_ call: () -> Int) -> Int {
    let count = call()
    if count > 0 { didCopy(count) }
    return count
  }

  /// Lets an empty file share all blocks of another one (`FICLONE`).
  ///
  /// - Returns: 0, or the negative error number if the file systems cannot do that.
  package func clone(_ source: Int32, to file: Int32) -> Int32 {
    changed(.share, .descriptor(file)) { Int(clinux_clone(file, source)) }
  }

  /// Drops the pages of a file from the cache, so that the next read comes from its device. Its content must be synced before.
  package func dropCache(of file: Int32) { clinux_drop_cache(file) }

  package func resize(_ file: Int32, to size: off_t) -> Int32 {
    changed(.resize, .descriptor(file)) { Int(ftruncate(file, size)) }
  }

  /// Lets a part of a file share the blocks of the same part of another one, if the kernel finds both equal (FIDEDUPERANGE).
  ///
  /// - Returns: how many bytes are shared now, 0 if they differ, or the negative error number.
  package func share(_ range: Range<UInt64>, of source: Int32, with target: Int32) -> Int {
    change(.share, .descriptor(target)) {
      retrying {
        clinux_share_range(source, target, range.lowerBound, range.upperBound - range.lowerBound)
      }
    }
  }

  // MARK: Metadata

  /// - Parameters:
  ///   - user: `UInt32.max` keeps the user; the same holds for `group`.
  ///   - isPlace: whether the descriptor was opened with `O_PATH`; it may refer to a symbolic link.
  package func setOwner(of file: Int32, user: UInt32, group: UInt32, isPlace: Bool = false) -> Int32 {
    changed(.setOwner, .descriptor(file)) {
      Int(isPlace ? clinux_chown_path_descriptor(file, user, group) : fchown(file, user, group))
    }
  }

  package func setMode(of file: Int32, to mode: UInt32, isPlace: Bool = false) -> Int32 {
    changed(.setMode, .descriptor(file)) {
      Int(isPlace ? clinux_chmod_path_descriptor(file, mode) : fchmod(file, mode))
    }
  }

  /// - Parameter accessed: nil keeps the time of access.
  package func setTimes(
    of file: Int32, accessed: FileStatus.Time?, modified: FileStatus.Time
  ) -> Int32 {
    // UTIME_OMIT, a macro that Swift does not import.
    let omitted = (1 << 30) - 2
    let values = [
      accessed.map { timespec(tv_sec: Int($0.seconds), tv_nsec: Int($0.nanoseconds)) }
        ?? timespec(tv_sec: 0, tv_nsec: omitted),
      timespec(tv_sec: Int(modified.seconds), tv_nsec: Int(modified.nanoseconds)),
    ]
    return changed(.setTimes, .descriptor(file)) { Int(futimens(file, values)) }
  }

  /// Sets the time of modification through a descriptor that was opened with `O_PATH`.
  package func setTime(ofPlace file: Int32, modified: FileStatus.Time) -> Int32 {
    changed(.setTimes, .descriptor(file)) {
      Int(clinux_set_time_of_path_descriptor(file, modified.seconds, modified.nanoseconds))
    }
  }

  /// - Parameter isPlace: whether the file was opened with `O_PATH`.
  package func setAttribute(
    _ name: [UInt8], of file: Int32, to value: [UInt8], isPlace: Bool = false
  ) -> Int32 {
    PathBytes(name).withCString { name in
      value.withUnsafeBytes { value in
        changed(.setAttribute, .descriptor(file)) {
          Int(
            isPlace
              ? clinux_setxattr_path_descriptor(file, name, value.baseAddress, value.count)
              : clinux_fsetxattr(file, name, value.baseAddress, value.count))
        }
      }
    }
  }

  /// - Parameter isPlace: whether the file was opened with `O_PATH`.
  package func removeAttribute(_ name: [UInt8], of file: Int32, isPlace: Bool = false) -> Int32 {
    PathBytes(name).withCString { name in
      changed(.setAttribute, .descriptor(file)) {
        Int(isPlace ? clinux_removexattr_path_descriptor(file, name) : clinux_fremovexattr(file, name))
      }
    }
  }

  // MARK: The disk

  /// Syncs a file, or the names in a folder, to the disk (`fsync(2)`).
  ///
  /// - Returns: 0 also if the file system cannot sync such an object (`EINVAL`), such as folders on some network file systems.
  package func sync(_ file: Int32) -> Int32 {
    let result = changed(.sync, .descriptor(file)) { Int(fsync(file)) }
    return result == -EINVAL ? 0 : result
  }

  /// Syncs the names in a folder to the disk. A folder that this process may write to but not read is not synced.
  ///
  /// - Returns: 0 or the error number, also of opening the folder.
  package func syncFolder(_ path: PathBytes) -> Int32 {
    let opened = path.withCString { open($0, at: AT_FDCWD, flags: O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard opened >= 0 else { return opened == -EACCES ? 0 : -opened }
    let folder = Descriptor(owning: opened)
    return -sync(folder.raw)
  }

  /// Locks an open file against other runs without waiting (`flock(2)`).
  package func lock(_ file: Int32, isShared: Bool = false) -> Int32 {
    changed(.lock, .descriptor(file)) { Int(flock(file, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB)) }
  }

  /// Writes all cached data of this machine to its disks (`sync(2)`).
  package func syncAll() {
    _ = change(.syncFileSystem, .descriptor(AT_FDCWD)) {
      Glibc.sync()
      return 0
    }
  }

  /// Locks a byte of a file for its open file description without waiting (`F_OFD_SETLK`).
  package func lock(byte: Int64, of file: Int32, isShared: Bool) -> Int32 {
    changed(.lock, .descriptor(file)) {
      let failed = clinux_lock_byte(file, byte, isShared ? 0 : 1)
      errno = failed
      return failed == 0 ? 0 : -1
    }
  }

  package static func unlock(byte: Int64, of file: Int32) { clinux_unlock_byte(file, byte) }

  // MARK: Steps

  private func changed(
    _ change: FileChange, _ name: PathBytes, _ call: (UnsafePointer<CChar>) -> Int
  ) -> Int32 {
    name.withCString { name in changed(change, .name(name)) { call(name) } }
  }

  private func changed(_ change: FileChange, _ place: FileChangePlace, _ call: () -> Int) -> Int32 {
    Int32(truncatingIfNeeded: self.change(change, place) { retrying(call) })
  }

  /// Whether the kernel or the file system does not support the call.
  private static func isUnknown(_ result: Int32) -> Bool {
    [-ENOSYS, -EINVAL, -ENOTSUP].contains(result)
  }
}
