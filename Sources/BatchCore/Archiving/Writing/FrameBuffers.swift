import BatchEngine
import Synchronization
import func Glibc.madvise
import func Glibc.sysconf
import var Glibc.MADV_HUGEPAGE
import var Glibc._SC_PAGESIZE

/// Buffers for segments and frames, which come back when they were written: memory that was used before costs no
/// page faults.
final class FrameBuffers: Sendable {
  /// From here on large pages are asked for, and a new buffer is larger than it has to be.
  private static let largePageThreshold = 4 << 20
  private static let largePageSize = 2 << 20

  /// The first one was given back first.
  private let free = Mutex<[[UInt8]]>([])

  /// An empty buffer.
  ///
  /// - Parameter byteCount: how much room it has at least. What is more than that is copied as it grows.
  func take(room byteCount: Int = 0) -> [UInt8] {
    // The last one may still be in use by the code that gave it back.
    var buffer = free.withLock { $0.isEmpty ? [] : $0.removeFirst() }
    // Code that still reads it keeps its bytes: copy on write makes this another buffer.
    buffer.removeAll(keepingCapacity: true)
    guard buffer.capacity < byteCount else { return buffer }
    // The old one first, so that there are never both.
    buffer = []
    guard byteCount >= Self.largePageThreshold else {
      buffer.reserveCapacity(byteCount)
      return buffer
    }
    // Some more, so that a somewhat larger segment does not need another one.
    buffer.reserveCapacity((byteCount / Self.largePageSize + 1) * Self.largePageSize)
    Self.askForLargePages(&buffer)
    return buffer
  }

  /// - Parameter limit: how many buffers are kept.
  func give(_ buffer: [UInt8], keeping limit: Int) {
    free.withLock { free in
      if free.count < limit { free.append(buffer) }
    }
  }

  /// Then a megabyte costs one page fault rather than hundreds, where the system has such pages.
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
