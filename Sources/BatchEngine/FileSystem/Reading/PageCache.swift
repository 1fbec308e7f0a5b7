import CLinux
import Glibc

/// The page cache of a file.
package enum PageCache {
  /// Asks the kernel to drop the content of a file from memory. It drops pages that are clean and not used by other programs.
  ///
  /// - Returns: whether no page is cached any more; nil if unknown.
  package static func drop(_ path: PathBytes) -> Bool? {
    let opened = path.withCString {
      Int32(
        truncatingIfNeeded: clinux_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC, 0))
    }
    guard opened >= 0 else { return nil }
    let file = Descriptor(owning: opened)
    guard posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED) == 0 else { return nil }
    let cached = clinux_is_cached(file.raw)
    return cached < 0 ? nil : cached == 0
  }
}
