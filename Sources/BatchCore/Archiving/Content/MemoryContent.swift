import BatchEngine

/// Content that is completely in memory; the bytes must stay valid as long as this object is used.
final class MemoryContent: ArchiveContent {
  let length: UInt64? = nil
  private(set) var bytesRead: UInt64 = 0
  private var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes
  }

  func next() -> UnsafeRawBufferPointer {
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...]) }
    bytesRead += UInt64(rest.count)
    return rest
  }

  func seek(to offset: UInt64) {}
}
