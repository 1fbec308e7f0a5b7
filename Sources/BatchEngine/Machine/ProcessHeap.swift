import CLinux

package enum ProcessHeap {
  /// Lets all threads share one heap. Called before any other thread exists.
  ///
  /// glibc gives each thread its own heap, and each heap keeps the large blocks that were freed in it. Blocks of a file move
  /// between lanes, so `-j 8` would hold twice the memory for the same work. Small requests do not wait for each other: each
  /// thread has a cache for them.
  package static func share() {
    clinux_share_heap()
  }

  /// Returns freed memory to the kernel. Takes some milliseconds for each 100 MiB.
  static func trim() {
    clinux_trim_heap()
  }
}
