import Glibc
import Synchronization

/// Buffers of frames that were written, for the frames to come: memory that was used before costs no page faults.
final class FrameBuffers: Sendable {
  /// New buffers are as large as a multiple of this: one that is outgrown would be copied, and pages that stay
  /// unused cost nothing.
  private static let unit = 8 << 20

  private let limit: Int
  private let free = Mutex<[[UInt8]]>([])

  /// - Parameter limit: how many are kept, 1 or more.
  init(limit: Int) {
    self.limit = limit
  }

  /// An empty buffer.
  ///
  /// - Parameter byteCount: what is going to be put there, roughly; it has at least that much room.
  func take(room byteCount: Int = 0) -> [UInt8] {
    var buffer = free.withLock { $0.popLast() } ?? []
    // Whoever still reads it keeps his bytes, and this becomes a buffer of its own.
    buffer.removeAll(keepingCapacity: true)
    guard buffer.capacity < byteCount else { return buffer }
    let (units, rest) = byteCount.quotientAndRemainder(dividingBy: Self.unit)
    // The old one first, so that there are never both.
    buffer = []
    buffer.reserveCapacity((rest == 0 ? units : units + 1) * Self.unit)
    Self.askForLargePages(&buffer)
    return buffer
  }

  func give(_ buffer: [UInt8]) {
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
