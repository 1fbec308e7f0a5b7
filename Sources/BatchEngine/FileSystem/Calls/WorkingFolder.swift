import Glibc

/// The folder of the process, in which relative paths begin.
package enum WorkingFolder {
  /// Changes the folder for all threads. Called before other threads open relative paths.
  ///
  /// - Throws: the error of `chdir(2)`.
  package static func enter(_ folder: PathBytes) throws(BatchError) {
    guard folder.withCString({ chdir($0) }) == 0 else {
      throw .syscall("enter the folder", errno: errno, path: folder)
    }
  }

  /// Its path from the root, without links; `/` if unknown.
  package static var path: PathBytes { current ?? "/" }

  /// Makes a path absolute in the current working folder. Returns `-` unchanged, and any path if the folder is unknown.
  package static func absolute(_ path: PathBytes) -> PathBytes {
    guard !path.isAbsolute, path != "-" else { return path }
    return current?.appending(path.bytes) ?? path
  }

  private static var current: PathBytes? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return PathBytes(UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }
}
