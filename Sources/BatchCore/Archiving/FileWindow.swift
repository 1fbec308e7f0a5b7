/// A part of an archive file in memory, for many small reads near each other.
final class FileWindow {
  private static let size: UInt64 = 16 << 10

  private let file: ArchiveFile
  private var start: UInt64 = 0
  private var content: [UInt8] = []

  init(_ file: ArchiveFile) {
    self.file = file
  }

  /// The bytes of a range, which stay as they are until the next call.
  ///
  /// - Throws: `malformed` when the file ends before.
  func bytes(at offset: UInt64, count: Int) throws(BatchError) -> [UInt8].SubSequence {
    let size = file.size ?? 0
    guard offset <= size, UInt64(count) <= size - offset else {
      throw BatchError(.malformed, "damaged: the archive ends before its directory says", path: file.path)
    }
    if offset < start || offset + UInt64(count) > start + UInt64(content.count) {
      content = try file.bytes(at: offset, count: Int(min(max(Self.size, UInt64(count)), size - offset)))
      start = offset
    }
    let first = Int(offset - start)
    return content[first..<(first + count)]
  }
}
