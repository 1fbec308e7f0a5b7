import BatchEngine
import CLinux
import Glibc

/// Files that have no name until they are complete, and of which nothing is left when the process dies.
enum UnnamedFile {
  /// Whether a file without a name can be given one: older kernels let others than the superuser do so by way of /proc
  /// alone.
  private static let canBeNamed = access("/proc/self/fd", F_OK) == 0

  /// Makes one for reading and writing (`O_TMPFILE`).
  ///
  /// - Parameters:
  ///   - folder: on the file system that it is to have a name on.
  ///   - permissions: less the umask, or as the folder's default list has it.
  /// - Returns: a descriptor, or the negative error number.
  static func make(in folder: Int32, permissions: UInt32) -> Int {
    guard canBeNamed else { return Int(-EOPNOTSUPP) }
    return ".".withCString { path in
      retrying { Int(clinux_openat(folder, path, O_RDWR | O_CLOEXEC | clinux_o_tmpfile, permissions)) }
    }
  }

  /// Whether ``make(in:permissions:)`` failed because the kernel or the file system has no such files.
  static func isUnknown(_ result: Int) -> Bool {
    [-EOPNOTSUPP, -EISDIR, -ENOENT, -EINVAL].contains(Int32(truncatingIfNeeded: result))
  }

  /// Gives one its name.
  ///
  /// - Returns: 0 or the error number; `EEXIST` when the name is taken.
  static func link(_ file: Int32, as name: PathBytes, in folder: Int32) -> Int32 {
    name.withCString { clinux_link_descriptor(file, folder, $0) == 0 ? 0 : errno }
  }
}
