import BatchEngine

/// A part of an archive file in memory, for many small reads near each other.
final class FileWindow {
  private let file: ArchiveFile
  private let size: UInt64
  private var start: UInt64 = 0
  private var content: [UInt8] = []

  /// - Parameter size: how many bytes are read at once; more if more are requested.
  init(_ file: ArchiveFile, size: UInt64) {
    self.file = file
    self.size = size
  }

  /// The bytes of a range, valid until the next call.
  ///
  /// - Throws: `malformed` when the file is shorter.
  func bytes(at offset: UInt64, count: Int) throws(BatchError) -> [UInt8].SubSequence {
    let end = file.size ?? 0
    guard offset <= end, UInt64(count) <= end - offset else {
      throw BatchError(.malformed, "damaged: the archive ends before its directory says", path: file.path)
    }
    if offset < start || offset + UInt64(count) > start + UInt64(content.count) {
      content = try file.bytes(at: offset, count: Int(min(max(size, UInt64(count)), end - offset)))
      start = offset
    }
    let first = Int(offset - start)
    return content[first..<(first + count)]
  }
}
