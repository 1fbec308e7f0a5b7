import BatchEngine
import Synchronization
import func Glibc.madvise
import func Glibc.sysconf
import var Glibc.MADV_HUGEPAGE
import var Glibc._SC_PAGESIZE

/// A pool of buffers for segments and frames, which are returned after they were written: reused memory causes no page faults.
final class FrameBuffers: Sendable {
  /// From this size on, large pages are requested, and a new buffer is larger than necessary.
  private static let largePageThreshold = 4 << 20
  private static let largePageSize = 2 << 20

  /// The buffer that was returned first is first.
  private let free = Mutex<[[UInt8]]>([])

  /// An empty buffer.
  ///
  /// - Parameter byteCount: its least capacity. A buffer that grows beyond it is copied.
  func take(room byteCount: Int = 0) -> [UInt8] {
    // The last one may still be in use by the code that returned it.
    var buffer = free.withLock { $0.isEmpty ? [] : $0.removeFirst() }
    // Code that still reads it keeps its bytes: copy on write makes this a new buffer.
    buffer.removeAll(keepingCapacity: true)
    guard buffer.capacity < byteCount else { return buffer }
    // Releases the old buffer first, so that both never exist together.
    buffer = []
    guard byteCount >= Self.largePageThreshold else {
      buffer.reserveCapacity(byteCount)
      return buffer
    }
    // Slightly more, so that a slightly larger segment does not need a new buffer.
    buffer.reserveCapacity((byteCount / Self.largePageSize + 1) * Self.largePageSize)
    Self.askForLargePages(&buffer)
    return buffer
  }

  func give(_ buffer: [UInt8], keeping limit: Int) {
    free.withLock { free in
      if free.count < limit { free.append(buffer) }
    }
  }

  /// With large pages, if the system has them, a megabyte costs one page fault instead of hundreds.
  private static func askForLargePages(_ buffer: inout [UInt8]) {
    let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
    let capacity = buffer.capacity
    buffer.withUnsafeMutableBytes { bytes in
      let unaligned = Int(bitPattern: bytes.baseAddress) % pageSize
      let skipped = unaligned == 0 ? 0 : pageSize - unaligned
      guard let base = bytes.baseAddress, capacity > skipped + pageSize else { return }
      _ = madvise(base + skipped, (capacity - skipped) / pageSize * pageSize, MADV_HUGEPAGE)
    }
  }
}
