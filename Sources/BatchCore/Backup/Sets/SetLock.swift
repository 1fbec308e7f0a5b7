import BatchEngine
import Synchronization
import func Glibc.usleep
import var Glibc.EACCES
import var Glibc.EAGAIN

/// The locks of a set: byte locks of one hidden file in its folder, which the kernel releases when a process ends.
///
/// The file remains; it also records which files a run was about to add or remove.
package final class SetLock: Sendable {
  package enum Purpose: Sendable {
    /// A run that writes or removes snapshots; readers may run at the same time.
    case writing
    /// A run that reads archives, which must not be removed meanwhile. Several may read.
    case reading
    /// Taken by the writer to remove archives: no run may read.
    case removing
  }

  /// How long, and how, to wait for a lock.
  package struct Patience: Sendable {
    /// The longest wait in seconds.
    package var limit: Double
    /// Sleeps for about this many seconds.
    package var pause: @Sendable (Double) -> Void

    package init(
      limit: Double, pause: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1_000_000)) }
    ) {
      self.limit = limit
      self.pause = pause
    }

    package static let none = Patience(limit: 0)
  }

  private static let interval = 0.1
  /// The descriptors of all locks of the process.
  private static let open = Mutex<Set<Int32>>([])

  package let path: PathBytes
  private let file: Descriptor
  private let calls: any FileSystemCalls

  /// Opens the lock file without taking a lock.
  ///
  /// - Parameter isWritable: whether it is created if missing.
  /// - Throws: the error of opening it; `unwritable` for anything but a regular file.
  init(_ path: PathBytes, isWritable: Bool, calls: any FileSystemCalls) throws(BatchError) {
    self.path = path
    self.calls = calls
    do throws(BatchError) {
      file = try isWritable ? calls.openToChange(path) : calls.openFile(path, followingLast: false)
    } catch {
      let error = BatchError.syscall("open the lock of the set", errno: error.errno, path: path)
      throw isWritable ? error.recoded(.unwritable) : error
    }
    let kind = try calls.status(of: file).kind
    guard kind == .regular else {
      throw BatchError(
        .unwritable, "is \(kind.text), and cannot be the lock of the set", path: path, remedy: "remove it")
    }
    let raw = file.raw
    Self.open.withLock { _ = $0.insert(raw) }
  }

  deinit {
    let raw = file.raw
    Self.open.withLock { _ = $0.remove(raw) }
  }

  /// Releases all locks of the process, for a process that ends while one of its threads is stuck.
  package static func releaseAll() {
    open.withLock { open in
      for raw in open {
        for byte: Int64 in [0, 1] { LinuxCalls.unlock(byte: byte, of: raw) }
      }
    }
  }

  /// - Throws: `locked` when another process holds it all the time; the reason when the run was stopped.
  func take(_ purpose: Purpose, _ patience: Patience, _ cancellation: Cancellation) throws(BatchError) {
    var waited = 0.0
    while true {
      try cancellation.check()
      let failed = -calls.lock(byte: purpose == .writing ? 0 : 1, of: file.raw, isShared: purpose == .reading)
      if failed == 0 { return }
      guard failed == EAGAIN || failed == EACCES else {
        throw .syscall("lock the set", errno: failed, path: path)
      }
      guard waited < patience.limit else {
        let byte: Int64 = purpose == .writing ? 0 : 1
        let holder = (try? calls.status(of: file.raw)).flatMap {
          LockHolder(byte: byte, ofFile: $0.identity.inode, calls: calls)
        }
        throw BatchError(
          .locked,
          (purpose == .removing
            ? "a restore, drill or verification reads the set, and nothing is removed meanwhile"
            : "another run holds the lock of the set") + (holder.map { ": \($0.text)" } ?? ""), path: path,
          remedy: .waitForLock)
      }
      patience.pause(min(Self.interval, patience.limit - waited))
      waited += Self.interval
    }
  }

  func release(_ purpose: Purpose) {
    LinuxCalls.unlock(byte: purpose == .writing ? 0 : 1, of: file.raw)
  }

  // MARK: Files that are being created or removed

  private static let longestNote = 1 << 20
  /// The size that the file has at least after a record was written: its block stays allocated, so that a record can be written
  /// to a disk that is full.
  private static let smallestNote = 4096

  /// Names of files that an interrupted run was about to create or to remove.
  var pending: [PathBytes] {
    var bytes = [UInt8](repeating: 0, count: Self.longestNote)
    let raw = file.raw
    let count = bytes.withUnsafeMutableBytes { calls.read(raw, into: $0, at: 0) }
    guard count > 0 else { return [] }
    return bytes[..<count].split(separator: 0).map { PathBytes($0) }
  }

  /// Records names before files are created or removed; an empty list when that is done.
  ///
  /// The record is written in place and filled with zeros up to the size of the file, which never becomes smaller.
  ///
  /// - Throws: `unwritable` when the record cannot be synced to the disk.
  func note(_ names: [PathBytes]) throws(BatchError) {
    var bytes = names.reduce(into: [UInt8]()) { $0 += $1.bytes + [0] }
    let raw = file.raw
    let size = min((try? calls.status(of: raw))?.size ?? 0, Int64(Self.longestNote))
    let length = max(Self.smallestNote, Int(size), bytes.count)
    bytes += [UInt8](repeating: 0, count: length - bytes.count)
    var failed = bytes.withUnsafeBytes { calls.write($0, to: raw, at: 0) }
    if failed == 0 { failed = calls.syncContent(of: raw) }
    guard failed == 0 else {
      throw BatchError.syscall("write the record of pending files", errno: -failed, path: path).recoded(
        .unwritable)
    }
  }
}
