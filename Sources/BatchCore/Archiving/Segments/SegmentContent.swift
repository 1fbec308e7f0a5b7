import BatchEngine

/// The content of some frames, one after the other; the checksums of each are compared before any of it is returned.
final class SegmentContent: ArchiveContent {
  /// The offsets of the type flag and the size in a ustar header.
  private static let typeOffset = 156
  private static let sizeField = 124..<136

  let length: UInt64? = nil
  private(set) var bytesRead: UInt64 = 0
  private let loader: FrameLoader
  private let index: MemberIndex
  private let loaded: (Int, UnsafeRawBufferPointer) -> Void
  private var frames: Range<Int>
  private var current = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The offset of the current frame in the content.
  private var start: UInt64 = 0

  /// - Parameter loaded: called with the number and the content of each frame; the content is valid until the next frame.
  init(
    _ loader: FrameLoader, _ index: MemberIndex, frames: Range<Int>,
    loaded: @escaping (Int, UnsafeRawBufferPointer) -> Void = { _, _ in }
  ) {
    self.loader = loader
    self.loaded = loaded
    self.index = index
    self.frames = frames
  }

  func next() throws(BatchError) -> UnsafeRawBufferPointer {
    start += UInt64(current.count)
    guard let number = frames.popFirst() else {
      current = UnsafeRawBufferPointer(start: nil, count: 0)
      return current
    }
    let frame = index.frames[number]
    bytesRead += frame.compressedSize
    current = try loader.load(frame)
    loaded(number, current)
    return current
  }

  func seek(to offset: UInt64) {}

  /// Whether a member whose headers begin at this offset, in the current frame, has no header that other readers apply to
  /// several members or interpret differently.
  ///
  /// Allowed are the types of ustar and pax, and those of GNU tar for long names and sparse files.
  func hasOwnHeader(at offset: UInt64) -> Bool {
    let block = UInt64(TarBlock.size)
    var place = offset
    while place >= start, place - start <= UInt64(current.count),
      UInt64(current.count) - (place - start) >= block
    {
      let header = UnsafeRawBufferPointer(
        rebasing: current[Int(place - start)..<Int(place - start + block)])
      switch header[Self.typeOffset] {
      case 0, UInt8(ascii: "0")...UInt8(ascii: "7"), UInt8(ascii: "S"): return true
      case UInt8(ascii: "x"), UInt8(ascii: "L"), UInt8(ascii: "K"):
        guard let size = Self.size(in: header) else { return false }
        place += block + (size + block - 1) / block * block
      default: return false
      }
    }
    return false
  }

  /// The size in a header, in octal digits; nil for another form, which extension headers never have.
  private static func size(in header: UnsafeRawBufferPointer) -> UInt64? {
    let digits = header[sizeField].prefix { $0 != 0 && $0 != UInt8(ascii: " ") }
    guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "7")).contains($0) }) else {
      return nil
    }
    return digits.reduce(0) { $0 << 3 | UInt64($1 & 7) }
  }

  func isZero(from offset: UInt64) throws(BatchError) -> Bool {
    // Blocks before the current frame were already found to be zero.
    var skipped = Int(min(max(offset, start) - start, UInt64(current.count)))
    while !current.isEmpty {
      guard current[skipped...].allSatisfy({ $0 == 0 }) else { return false }
      skipped = 0
      _ = try next()
    }
    return true
  }
}
