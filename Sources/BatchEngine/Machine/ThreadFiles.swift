import Glibc

/// The files of the kernel for each thread of the process, below `/proc/self/task`.
package enum ThreadFiles {
  private static let folder: PathBytes = "/proc/self/task"

  /// Checks that the kernel lists the threads of the process. Dispatch reads their states there, and traps if it cannot, so no
  /// run may begin without these files.
  ///
  /// - Throws: `unreadable` if `/proc` is not mounted, as in a plain chroot.
  package static func require() throws(BatchError) {
    guard folder.withCString({ access($0, F_OK) }) != 0 else { return }
    throw BatchError(
      .unreadable, "cannot read the states of the threads", path: folder, errno: errno,
      remedy: "mount it with `mount -t proc proc /proc`")
  }

  /// The contents of one file of each thread. A thread that ends meanwhile is left out.
  ///
  /// - Parameter name: of the file, such as `schedstat`.
  /// - Returns: empty if the kernel does not have these files.
  static func contents(of name: String) -> [[UInt8]] {
    let threads = (try? LinuxCalls().names(in: folder)) ?? []
    return threads.compactMap { try? KernelFile.read(folder.appending($0.bytes).appending(name.utf8)) }
  }
}
