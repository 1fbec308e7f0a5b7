import BatchEngine
import func Glibc.free
import func Glibc.malloc

/// Memory to decode into, kept from file to file and never cleared.
final class ScratchBuffer {
  private(set) var room: UnsafeMutableRawBufferPointer

  init(capacity: Int) throws(BatchError) {
    guard let base = malloc(capacity) else { throw .noCodecMemory }
    room = UnsafeMutableRawBufferPointer(start: base, count: capacity)
  }

  deinit {
    free(room.baseAddress)
  }

  /// Provides `capacity` bytes; the current content is lost.
  ///
  /// - Returns: false when memory is missing; the buffer is then unchanged.
  func reserve(_ capacity: Int) -> Bool {
    guard capacity > room.count else { return true }
    guard let base = malloc(capacity) else { return false }
    free(room.baseAddress)
    room = UnsafeMutableRawBufferPointer(start: base, count: capacity)
    return true
  }
}
