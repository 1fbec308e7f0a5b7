import Glibc

/// The folder of the process that relative paths begin in.
package enum WorkingFolder {
  /// Goes to a folder, for all threads; to be called before there are others that open relative paths.
  ///
  /// - Throws: the error of `chdir(2)`.
  package static func enter(_ folder: PathBytes) throws(BatchError) {
    guard folder.withCString({ chdir($0) }) == 0 else {
      throw .syscall("enter the folder", errno: errno, path: folder)
    }
  }

  /// Its path from the root, without links; `/` where it is unknown.
  package static var path: PathBytes {
    guard let current = getcwd(nil, 0) else { return "/" }
    defer { free(current) }
    return PathBytes(UnsafeRawBufferPointer(start: current, count: strlen(current)))
  }

  /// The path from the root, as it is now; `-` and paths that are unknown stay as they are.
  package static func absolute(_ path: PathBytes) -> PathBytes {
    guard !path.isAbsolute, path != "-" else { return path }
    guard let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    return PathBytes(UnsafeRawBufferPointer(start: current, count: strlen(current))).appending(path.bytes)
  }
}
