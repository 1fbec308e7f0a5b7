import Glibc

/// The files of the kernel for each thread of the process, below `/proc/self/task`.
package enum ThreadFiles {
  /// Checks that the kernel lists the threads of the process. Dispatch reads their states there, and traps if it cannot, so no
  /// run may begin without these files.
  ///
  /// - Throws: `unreadable` if `/proc` is not mounted, as in a plain chroot.
  package static func require() throws(BatchError) {
    guard access("/proc/self/task", F_OK) != 0 else { return }
    throw BatchError(
      .unreadable, "cannot read the states of the threads", path: "/proc/self/task", errno: errno,
      remedy: "mount it with `mount -t proc proc /proc`")
  }

  /// The contents of one file of each thread. A thread that ends meanwhile is left out.
  ///
  /// - Parameter name: of the file, such as `schedstat`.
  /// - Returns: empty if the kernel does not have these files.
  static func contents(of name: String) -> [[UInt8]] {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var contents: [[UInt8]] = []
    while let entry = readdir(folder) {
      let thread = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: UInt8.self, capacity: 256) {
          PathBytes(UnsafeRawBufferPointer(start: $0, count: strlen($0)))
        }
      }
      guard thread.bytes.first.map({ $0 != UInt8(ascii: ".") }) ?? false else { continue }
      let file = PathBytes("/proc/self/task").appending(thread.bytes).appending(name.utf8)
      if let content = try? SmallFile.read(file) { contents.append(content) }
    }
    return contents
  }
}
