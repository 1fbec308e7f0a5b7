import CLinux
import Glibc

package enum PageCache {
  /// Asks the kernel to drop the content of a file from memory. It drops pages that are clean and not used by other programs.
  ///
  /// - Returns: whether no page is cached any more; nil if unknown.
  package static func drop(_ path: PathBytes) -> Bool? {
    guard let file = try? LinuxCalls().openFile(path, followingLast: false),
      posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED) == 0
    else { return nil }
    let cached = clinux_is_cached(file.raw)
    return cached < 0 ? nil : cached == 0
  }
}
