import BatchEngine

/// The first five bytes of a frame of zstd or lz4, in which the magic number is followed by the flags.
struct FrameStart {
  private var magic: UInt32 = 0
  private var count = 0
  private var flags: UInt8?

  mutating func pass(_ bytes: UnsafeRawBufferPointer) {
    guard flags == nil else { return }
    for byte in bytes {
      guard count < 4 else {
        flags = byte
        return
      }
      magic |= UInt32(byte) << (8 * count)
      count += 1
    }
  }

  /// The flags of a frame with this magic number; nil for another frame, such as a skippable one.
  func flags(of magic: UInt32) -> UInt8? { self.magic == magic ? flags : nil }
}
