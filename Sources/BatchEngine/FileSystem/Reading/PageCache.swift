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

  /// Up to this size, a whole file is read ahead.
  private static let smallSize: off_t = 1 << 20
  /// The index of an archive is at its end.
  private static let endSize: off_t = 128 << 10

  /// Asks the kernel to read a small file, or the beginning and the end of a large one, without waiting. A file that cannot be opened is
  /// reported when it is read.
  package static func readAhead(_ path: PathBytes, by calls: any FileSystemCalls) {
    guard let file = try? calls.openFile(path, followingLast: false),
      let status = try? calls.status(of: file), status.kind == .regular
    else { return }
    let size = off_t(status.size)
    guard size > smallSize else {
      posix_fadvise(file.raw, 0, 0, POSIX_FADV_WILLNEED)
      return
    }
    posix_fadvise(file.raw, 0, 4096, POSIX_FADV_WILLNEED)
    posix_fadvise(file.raw, size - endSize, endSize, POSIX_FADV_WILLNEED)
  }
}
