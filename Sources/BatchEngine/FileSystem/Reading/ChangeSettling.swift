import Glibc
import Synchronization

/// Decides for which files it is certain that each later change of the content gives them a new change time (ctime).
///
/// Two things can hide a change. File systems store times in steps of up to two seconds. And a write through a shared mapping
/// changes the times only if the page was clean: until the kernel has written the page to the device, which takes about half a
/// minute, further writes to that page change no time. So a file whose status changed recently is examined before it is read.
/// If no program can write to it, a later writer has to map it anew, and its first write to each page changes the time.
/// Otherwise the file is synced: then its pages are clean, and the next write to a page changes the time.
package final class ChangeSettling: Sendable {
  /// The largest step in which file systems store times, in seconds.
  private static let step: Int64 = 2
  /// With its default settings the kernel writes a dirty page to its device within this many seconds.
  private static let writeBack: Int64 = 60
  /// How many files are synced individually; for more files syncing the whole file system is faster.
  static let mostFiles = 64
  /// File systems that change the time at the first write through each new mapping, even to a dirty page, and that grant a
  /// lease only if there is no writer (linux/magic.h): ext2 to ext4, XFS, Btrfs, F2FS.
  static let leasable: Set<Int> = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010]
  /// File systems on a local device whose pages are clean after a sync: the leasable ones, FAT, exFAT, JFS and NILFS. For
  /// tmpfs, ramfs, overlays, FUSE and network file systems this is false or unknown.
  static let syncable: Set<Int> = leasable.union([0x4D44, 0x2011_BAB0, 0x3153_464A, 0x3434])

  private struct FileSystem {
    let isLeasable: Bool
    var isSyncable: Bool
    /// When the file system was synced. A file whose status changed before this time had no dirty page then.
    var synced: FileStatus.Time?
  }

  private struct State {
    var syncedFiles = 0
    var fileSystems: [UInt64: FileSystem] = [:]
  }

  private let calls: any FileSystemCalls
  private let now: @Sendable () -> FileStatus.Time
  private let state = Mutex(State())

  /// - Parameter now: the clock that file systems use for their times.
  package init(calls: any FileSystemCalls, now: @escaping @Sendable () -> FileStatus.Time) {
    self.calls = calls
    self.now = now
  }

  /// Whether every change of a file from now on gives it another change time than this one.
  ///
  /// Called before the content of the file is read. May be called on several threads at once; they wait while a file system is
  /// synced.
  ///
  /// - Parameters:
  ///   - status: the current status of the file.
  ///   - descriptor: of the file, open for reading; nil for an object without content.
  package func isSettled(_ status: FileStatus, of descriptor: Int32? = nil) -> Bool {
    let now = self.now()
    let changed = status.statusChanged
    // Another change could get the same time.
    if changed > now.earlier(by: Self.step) { return false }
    guard let descriptor, changed > now.earlier(by: Self.writeBack) else { return true }
    let device = status.identity.device
    let fileSystem = fileSystem(device, of: descriptor)
    guard fileSystem.isSyncable else { return false }
    if fileSystem.isLeasable, calls.tryReadLease(on: descriptor) == 0 { return true }
    let isSynced = state.withLock { state -> Bool? in
      guard state.syncedFiles >= Self.mostFiles else {
        state.syncedFiles += 1
        return nil
      }
      if let synced = state.fileSystems[device]?.synced { return changed <= synced }
      let moment = self.now().earlier(by: Self.step)
      guard calls.syncFileSystem(of: descriptor) == 0 else {
        state.fileSystems[device]?.isSyncable = false
        return false
      }
      state.fileSystems[device]?.synced = moment
      return changed <= moment
    }
    return isSynced ?? (calls.syncContent(of: descriptor) == 0)
  }

  private func fileSystem(_ device: UInt64, of descriptor: Int32) -> FileSystem {
    state.withLock { state in
      if let known = state.fileSystems[device] { return known }
      let type = calls.fileSystemType(of: descriptor)
      let found = FileSystem(
        isLeasable: type.map(Self.leasable.contains) ?? false,
        isSyncable: type.map(Self.syncable.contains) ?? false)
      state.fileSystems[device] = found
      return found
    }
  }
}

extension FileStatus.Time {
  fileprivate func earlier(by seconds: Int64) -> FileStatus.Time {
    let (earlier, isOverflow) = self.seconds.subtractingReportingOverflow(seconds)
    return FileStatus.Time(seconds: isOverflow ? .min : earlier, nanoseconds: nanoseconds)
  }
}
