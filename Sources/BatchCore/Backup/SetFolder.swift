import BatchEngine
import Glibc

/// The folder of a set, open for the removal of its files: they are removed by their names below its descriptor.
struct SetFolder: ~Copyable {
  private let path: PathBytes
  private let descriptor: Descriptor

  /// - Throws: the error of opening the folder.
  init(_ set: BackupSet, in run: RunContext) throws(BatchError) {
    path = set.directory
    do throws(BatchError) {
      descriptor = try DirectoryOpener(calls: run.calls).open(path, followingLast: true)
    } catch {
      throw error.at(set.directory)
    }
  }

  /// Removes a file that may be gone already.
  ///
  /// - Throws: `invalid` for what is not the name of a file in the folder; `unwritable`.
  func remove(_ file: PathBytes) throws(BatchError) {
    guard !file.containsNUL, !file.bytes.contains(UInt8(ascii: "/")) else {
      throw BatchError(.invalid, "not removed: it is not a name in the folder of the set", path: file)
    }
    guard file.withCString({ unlinkat(descriptor.raw, $0, 0) }) == 0 || errno == ENOENT else {
      throw BatchError.syscall("remove", errno: errno, path: path.appending(file.bytes))
        .recoded(.unwritable)
    }
  }

  /// Brings removals to the disk.
  ///
  /// - Throws: `unwritable`.
  func sync() throws(BatchError) {
    guard fsync(descriptor.raw) == 0 || errno == EINVAL else {
      throw BatchError.syscall("sync the folder", errno: errno, path: path).recoded(.unwritable)
    }
  }
}
