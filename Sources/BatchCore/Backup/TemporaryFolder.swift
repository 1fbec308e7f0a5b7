import BatchEngine
import CLinux
import Glibc

/// A folder that only its owner may enter, and that goes with all that is in it.
package final class TemporaryFolder {
  package let path: PathBytes

  /// - Parameter place: the folder to make it in.
  /// - Throws: `unwritable` when it cannot be made.
  package init(in place: PathBytes) throws(BatchError) {
    var template = place.appending("batchproc-drill-XXXXXX".utf8).bytes.map { CChar(bitPattern: $0) } + [0]
    guard mkdtemp(&template) != nil else {
      throw BatchError.syscall("make a temporary folder", errno: errno, path: place).recoded(.unwritable)
    }
    path = PathBytes(template.dropLast().map { UInt8(bitPattern: $0) })
  }

  deinit {
    Self.remove(path, in: AT_FDCWD)
  }

  /// Removes a file, or a folder with all that is in it; follows no link.
  private static func remove(_ name: PathBytes, in folder: Int32) {
    if name.withCString({ unlinkat(folder, $0, 0) }) == 0 || errno == ENOENT { return }
    let opened = name.withCString {
      clinux_openat(folder, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    }
    guard opened >= 0 else { return }
    _ = fchmod(opened, 0o700)
    if let stream = fdopendir(dup(opened)) {
      while let entry = readdir(stream) {
        let child = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          let start = UnsafeRawPointer(pointer)
          return PathBytes(
            UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self))))
        }
        if !child.bytes[...].isDots { remove(child, in: opened) }
      }
      closedir(stream)
    }
    close(opened)
    _ = name.withCString { unlinkat(folder, $0, AT_REMOVEDIR) }
  }
}
