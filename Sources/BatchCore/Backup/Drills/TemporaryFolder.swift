import BatchEngine
import CLinux
import Glibc

/// A folder that only its owner may enter, and that is removed with all that is in it.
///
/// It is locked as long as it is used. The kernel lets go of the lock when the process ends in whatever way, and the next
/// one that makes such a folder in the same place removes those whose locks it can take.
package final class TemporaryFolder {
  private static let prefix = "batchproc-drill-"
  private static let randomLength = 6
  private static let attempts = 16

  package let path: PathBytes
  private let lock: Descriptor

  /// - Parameter place: the folder to make it in.
  /// - Throws: `unwritable` when it cannot be made.
  package init(in place: PathBytes) throws(BatchError) {
    Self.removeStale(in: place)
    for _ in 0..<Self.attempts {
      let path = try Self.make(in: place)
      // Another one that takes it for a dead one's before it is locked removes it.
      guard let lock = Self.lock(path, in: AT_FDCWD) else { continue }
      self.path = path
      self.lock = lock
      return
    }
    throw BatchError(.unwritable, "cannot make a temporary folder", path: place)
  }

  deinit {
    TreeRemoval().remove(path, in: AT_FDCWD)
  }

  /// Removes the folder with all that is in it.
  ///
  /// - Throws: `unwritable` when something stays.
  package func remove() throws(BatchError) {
    guard let failed = TreeRemoval().remove(path, in: AT_FDCWD) else { return }
    throw BatchError.syscall("remove all of the temporary folder", errno: failed, path: path).recoded(
      .unwritable)
  }

  private static func make(in place: PathBytes) throws(BatchError) -> PathBytes {
    let name = prefix + String(repeating: "X", count: randomLength)
    var template = place.appending(name.utf8).bytes.map { CChar(bitPattern: $0) } + [0]
    guard mkdtemp(&template) != nil else {
      throw BatchError.syscall("make a temporary folder", errno: errno, path: place).recoded(.unwritable)
    }
    return PathBytes(template.dropLast().map { UInt8(bitPattern: $0) })
  }

  /// Opens and locks a folder of this user.
  ///
  /// - Returns: nil when another process has it, or it is gone or somebody else's.
  private static func lock(_ name: PathBytes, in folder: Int32) -> Descriptor? {
    let calls = LinuxCalls()
    let opened = name.withCString { calls.open($0, at: folder, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW) }
    guard opened >= 0 else { return nil }
    let descriptor = Descriptor(owning: opened)
    var (held, named) = (stat(), stat())
    guard calls.lock(descriptor.raw) == 0, calls.status(of: descriptor.raw, into: &held) == 0,
      name.withCString({ calls.status(of: $0, at: folder, followingLinks: false, into: &named) }) == 0,
      FileStatus(held).identity == FileStatus(named).identity, held.st_uid == geteuid()
    else { return nil }
    return descriptor
  }

  /// Removes the folders of runs that were killed.
  private static func removeStale(in place: PathBytes) {
    guard let folder = try? OpenFolder(of: place.appending(prefix.utf8), calls: LinuxCalls()),
      let files = try? BackupSet.files(in: place)
    else { return }
    for name in files where name.bytes.starts(with: prefix.utf8) {
      guard name.bytes.count == prefix.utf8.count + randomLength, let lock = lock(name, in: folder.raw) else {
        continue
      }
      TreeRemoval().remove(name, in: folder.raw)
      _ = consume lock
    }
  }
}
