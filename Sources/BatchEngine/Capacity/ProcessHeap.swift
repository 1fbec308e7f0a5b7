import CLinux

/// Where the process has its memory.
package enum ProcessHeap {
  /// Lets all threads share one heap; to be called before there are any.
  ///
  /// glibc gives each thread a heap of its own, and each of them keeps the large blocks that were freed in it. Blocks of a file
  /// pass from lane to lane, so at `-j 8` twice the memory would be held for the same work. Small requests do not wait for each
  /// other: each thread has a cache for them.
  package static func share() {
    clinux_share_heap()
  }
}
