/// The content of some frames, one after the other; each one's checks are right before any of it is handed out.
final class SegmentContent: ArchiveContent {
  let length: UInt64? = nil
  private(set) var bytesRead: UInt64 = 0
  private let loader: FrameLoader
  private let index: MemberIndex
  private var frames: Range<Int>

  init(_ loader: FrameLoader, _ index: MemberIndex, frames: Range<Int>) {
    self.loader = loader
    self.index = index
    self.frames = frames
  }

  func next() throws(BatchError) -> UnsafeRawBufferPointer {
    guard let number = frames.popFirst() else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    let frame = index.frames[number]
    bytesRead += frame.compressedSize
    return try loader.load(frame)
  }

  func seek(to offset: UInt64) {}
}
