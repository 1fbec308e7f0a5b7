import Glibc
import Synchronization

/// Decides which files are certain to get another time of status with each later change of their content.
///
/// Two things can hide a change. File systems note times in steps of up to two seconds. And a write through a shared
/// mapping changes the times only when it dirties a page that was clean: until the kernel has written the page to the
/// device, which takes about half a minute, further writes to that page change no time. So a file whose status changed
/// shortly before is synced before it is read. Its pages are clean then, and the next write to one of them is noted.
package final class ChangeSettling: Sendable {
  /// The largest step in which file systems note times, in seconds.
  private static let step: Int64 = 2
  /// The kernel writes a dirty page to its device within less than these seconds, by its defaults.
  private static let writeBack: Int64 = 60
  /// Files that are synced one by one; for more of them syncing the whole file system takes less time.
  static let mostFiles = 64
  /// File systems on a device of this machine, whose pages are clean when they have been synced (linux/magic.h): ext2 to
  /// ext4, XFS, Btrfs, F2FS, FAT, exFAT, JFS, NILFS. Of tmpfs, ramfs, overlays, FUSE and network file systems this is
  /// wrong or not known.
  static let syncable: Set<Int> = [
    0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x4D44, 0x2011_BAB0, 0x3153_464A, 0x3434,
  ]

  private enum FileSystem {
    case notSyncable
    /// Files whose status changed before this moment had no dirty page then.
    case synced(before: FileStatus.Time)
  }

  private struct State {
    var fileCount = 0
    var fileSystems: [UInt64: FileSystem] = [:]
  }

  private let calls: any FileSystemCalls
  private let now: @Sendable () -> FileStatus.Time
  private let state = Mutex(State())

  /// - Parameter now: the clock by which file systems note times.
  package init(calls: any FileSystemCalls, now: @escaping @Sendable () -> FileStatus.Time) {
    self.calls = calls
    self.now = now
  }

  /// To be called before the content of a file is read; syncs it where that is needed.
  ///
  /// May be called on several threads at once; they wait while a file system is synced.
  ///
  /// - Parameters:
  ///   - status: what is known of the file.
  ///   - lend: opens the file and calls its argument with the descriptor; does nothing where it cannot be opened.
  /// - Returns: the latest time of status that a file which is read from now on may have to be settled.
  package func limit(
    of status: FileStatus, lend: ((Int32) -> Void) -> Void
  ) -> FileStatus.Time {
    let now = self.now()
    let (recent, old) = (now.earlier(by: Self.step), now.earlier(by: Self.writeBack))
    guard status.kind == .regular else { return recent }
    // A file that changed in the last two seconds is not settled by a sync either.
    if !status.statusChanged.isLater(than: old) || status.statusChanged.isLater(than: recent) { return old }
    let device = status.identity.device
    let known = state.withLock { state -> FileStatus.Time? in
      switch state.fileSystems[device] {
      case .notSyncable: return old
      case .synced(let moment): return moment.isLater(than: old) ? moment : old
      case nil: break
      }
      if state.fileCount < Self.mostFiles {
        state.fileCount += 1
        return nil
      }
      return syncFileSystem(device, &state, lend) ?? old
    }
    return known ?? (syncFile(device, lend) ? recent : old)
  }

  private func syncFile(_ device: UInt64, _ lend: ((Int32) -> Void) -> Void) -> Bool {
    var isSynced = false
    lend { descriptor in
      if isSyncable(descriptor) {
        isSynced = calls.syncContent(of: descriptor) == 0
      } else {
        state.withLock { $0.fileSystems[device] = .notSyncable }
      }
    }
    return isSynced
  }

  /// - Returns: nil where the file system was not synced.
  private func syncFileSystem(
    _ device: UInt64, _ state: inout State, _ lend: ((Int32) -> Void) -> Void
  ) -> FileStatus.Time? {
    let moment = now().earlier(by: Self.step)
    var result: FileSystem?
    lend { descriptor in
      let isSynced = isSyncable(descriptor) && calls.syncFileSystem(of: descriptor) == 0
      result = isSynced ? .synced(before: moment) : .notSyncable
    }
    // A file that cannot be opened says nothing about the others.
    if let result { state.fileSystems[device] = result }
    if case .synced = result { return moment }
    return nil
  }

  private func isSyncable(_ descriptor: Int32) -> Bool {
    calls.fileSystemType(of: descriptor).map(Self.syncable.contains) ?? false
  }
}

extension FileStatus.Time {
  package func isLater(than other: FileStatus.Time) -> Bool {
    (seconds, nanoseconds) > (other.seconds, other.nanoseconds)
  }

  fileprivate func earlier(by seconds: Int64) -> FileStatus.Time {
    let (earlier, isOverflow) = self.seconds.subtractingReportingOverflow(seconds)
    return FileStatus.Time(seconds: isOverflow ? .min : earlier, nanoseconds: nanoseconds)
  }
}
