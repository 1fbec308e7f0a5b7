import Synchronization

/// Buffers of frames that were written, for the frames to come: memory that was used before costs no page faults.
final class FrameBuffers: Sendable {
  private let limit: Int
  private let free = Mutex<[[UInt8]]>([])

  /// - Parameter limit: how many are kept, 1 or more.
  init(limit: Int) {
    self.limit = limit
  }

  /// An empty buffer, with room when there is one to have.
  func take() -> [UInt8] {
    var buffer = free.withLock { $0.popLast() } ?? []
    // Whoever still reads it keeps his bytes, and this becomes a buffer of its own.
    buffer.removeAll(keepingCapacity: true)
    return buffer
  }

  func give(_ buffer: [UInt8]) {
    free.withLock { free in
      if free.count < limit { free.append(buffer) }
    }
  }
}
