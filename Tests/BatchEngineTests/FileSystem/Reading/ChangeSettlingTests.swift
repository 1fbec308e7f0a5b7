import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

/// Which files are leased or synced before they are read, and whether they then count as settled.
@Suite struct ChangeSettlingTests {
  /// Counts leases and syncs; returns the given file system type, lease result and sync result.
  private final class SyncCalls: FileSystemCalls {
    private let kernel = LinuxCalls()
    private let type: Int?
    private let lease: Int32
    private let fails: Bool
    let leases = Mutex(0)
    let files = Mutex(0)
    let fileSystems = Mutex(0)

    init(type: Int?, lease: Int32 = -EAGAIN, fails: Bool = false) {
      self.type = type
      self.lease = lease
      self.fails = fails
    }

    func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
      kernel.open(path, at: directory, flags: flags)
    }
    func status(of descriptor: Int32, into status: inout stat) -> Int32 {
      kernel.status(of: descriptor, into: &status)
    }
    func status(
      of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
    ) -> Int32 {
      kernel.status(of: path, at: directory, followingLinks: followingLinks, into: &status)
    }
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      kernel.read(descriptor, into: buffer)
    }
    func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      kernel.readEntries(descriptor, into: buffer)
    }
    func fileSystemType(of descriptor: Int32) -> Int? { type }
    func tryReadLease(on descriptor: Int32) -> Int32 {
      leases.withLock { $0 += 1 }
      return lease
    }
    func syncContent(of descriptor: Int32) -> Int32 {
      files.withLock { $0 += 1 }
      return fails ? -EIO : 0
    }
    func syncFileSystem(of descriptor: Int32) -> Int32 {
      fileSystems.withLock { $0 += 1 }
      return fails ? -EIO : 0
    }
  }

  private static let ext4 = 0xEF53
  private static let tmpfs = 0x0102_1994
  private static let now: Int64 = 1_000_000

  private func time(_ age: Int64, _ nanoseconds: Int32 = 0) -> FileStatus.Time {
    FileStatus.Time(seconds: Self.now - age, nanoseconds: nanoseconds)
  }

  private func status(age: Int64, nanoseconds: Int32 = 0, kind: UInt32 = S_IFREG, device: UInt64 = 7)
    -> FileStatus
  {
    var raw = stat()
    raw.st_dev = UInt(device)
    raw.st_mode = kind
    raw.st_ctim.tv_sec = Int(Self.now - age)
    raw.st_ctim.tv_nsec = Int(nanoseconds)
    return FileStatus(raw)
  }

  private func settling(_ calls: SyncCalls) -> ChangeSettling {
    ChangeSettling(calls: calls, now: { time(0) })
  }

  private func isSettled(_ status: FileStatus, _ settling: ChangeSettling) -> Bool {
    settling.isSettled(status, of: status.kind == .regular ? 0 : nil)
  }

  @Test(
    "a file that changed within the last minute is synced, and settled two seconds after its change"
  )
  func ages() {
    let calls = SyncCalls(type: Self.ext4)
    let settling = settling(calls)
    for (age, isSettled, syncs) in [
      (3600, true, 0), (60, true, 0), (59, true, 1), (2, true, 2), (1, false, 2), (0, false, 2),
      (-5, false, 2),
    ] as [(Int64, Bool, Int)] {
      #expect(self.isSettled(status(age: age), settling) == isSettled, "\(age) s")
      #expect(calls.files.withLock { $0 } == syncs, "\(age) s")
    }
    #expect(!isSettled(status(age: 2, nanoseconds: 1), settling))
    #expect(calls.fileSystems.withLock { $0 } == 0)
  }

  @Test(
    "a directory or a link has no content and is settled two seconds after its change",
    arguments: [S_IFDIR, S_IFLNK])
  func others(kind: UInt32) {
    let calls = SyncCalls(type: Self.ext4)
    #expect(isSettled(status(age: 2, kind: kind), settling(calls)))
    #expect(!isSettled(status(age: 1, kind: kind), settling(calls)))
    #expect(calls.files.withLock { $0 } == 0)
  }

  @Test("after 64 files each file system is synced once, and files that change after that are not settled")
  func many() {
    let calls = SyncCalls(type: Self.ext4)
    let clock = Mutex(Self.now)
    let settling = ChangeSettling(calls: calls) {
      FileStatus.Time(seconds: clock.withLock { $0 }, nanoseconds: 0)
    }
    for _ in 0..<ChangeSettling.mostFiles { #expect(isSettled(status(age: 10), settling)) }
    for device in [7, 8, 7, 8] as [UInt64] { #expect(isSettled(status(age: 2, device: device), settling)) }
    #expect(calls.files.withLock { $0 } == ChangeSettling.mostFiles)
    #expect(calls.fileSystems.withLock { $0 } == 2)
    // Twenty seconds later: a change at the time of the sync, and changes after it.
    clock.withLock { $0 += 20 }
    #expect(isSettled(status(age: 2), settling))
    #expect(!isSettled(status(age: 1), settling))
    #expect(!isSettled(status(age: -10), settling))
    clock.withLock { $0 += 50 }
    #expect(isSettled(status(age: -10), settling))
    #expect(calls.fileSystems.withLock { $0 } == 2)
  }

  @Test("a file that cannot be synced is settled a minute after its change", arguments: [1, 100])
  func unsyncable(count: Int) {
    for calls in [
      SyncCalls(type: Self.tmpfs), SyncCalls(type: nil), SyncCalls(type: Self.ext4, fails: true),
    ] {
      let settling = settling(calls)
      for _ in 0..<count { #expect(!isSettled(status(age: 59), settling)) }
      #expect(isSettled(status(age: 60), settling))
    }
    let calls = SyncCalls(type: Self.tmpfs)
    let settling = settling(calls)
    for _ in 0..<count { _ = isSettled(status(age: 59), settling) }
    #expect(calls.files.withLock { $0 } == 0 && calls.fileSystems.withLock { $0 } == 0)
  }

  @Test(
    "a file that no program has open for writing is settled without a sync, for any number of files",
    arguments: [ext4, 0x5846_5342, 0x9123_683E, 0xF2F5_2010])
  func leased(type: Int) {
    let calls = SyncCalls(type: type, lease: 0)
    let settling = settling(calls)
    for _ in 0..<(2 * ChangeSettling.mostFiles) { #expect(isSettled(status(age: 2), settling)) }
    #expect(!isSettled(status(age: 1), settling))
    #expect(isSettled(status(age: 60), settling))
    #expect(calls.leases.withLock { $0 } == 2 * ChangeSettling.mostFiles)
    #expect(calls.files.withLock { $0 } == 0 && calls.fileSystems.withLock { $0 } == 0)
  }

  @Test(
    "a file whose lease is refused is synced",
    arguments: [EAGAIN, EACCES, EINVAL, ENOTTY])
  func refused(number: Int32) {
    let calls = SyncCalls(type: Self.ext4, lease: -number)
    let settling = settling(calls)
    for count in 1...3 {
      #expect(isSettled(status(age: 59), settling))
      #expect(calls.files.withLock { $0 } == count && calls.leases.withLock { $0 } == count)
    }
    let failing = SyncCalls(type: Self.ext4, lease: -number, fails: true)
    #expect(!isSettled(status(age: 59), self.settling(failing)))
  }

  @Test(
    "no lease is requested on a file system where a lease does not exclude mapped pages",
    arguments: [tmpfs, 0x794C_7630, 0x6969, 0x6573_5546, 0xFF53_4D42, 0x4D44])
  func unleasable(type: Int) {
    let calls = SyncCalls(type: type, lease: 0)
    // FAT lies on a local device, so a sync settles its files.
    #expect(isSettled(status(age: 59), settling(calls)) == (type == 0x4D44))
    #expect(calls.leases.withLock { $0 } == 0)
  }
}
