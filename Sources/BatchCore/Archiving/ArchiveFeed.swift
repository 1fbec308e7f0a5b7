import CArchive
import Glibc

/// Hands content to libarchive, and keeps the error that libarchive has no form for.
final class ArchiveFeed {
  let content: any ArchiveContent
  /// What the content threw; every later call fails as well.
  private(set) var failure: BatchError?
  /// How many bytes were handed over.
  private(set) var delivered: UInt64 = 0
  private var position: UInt64 = 0
  private var last = UnsafeRawBufferPointer(start: nil, count: 0)

  init(_ content: any ArchiveContent) {
    self.content = content
  }

  /// Connects a handle; this object has to live as long as it.
  func open(_ archive: OpaquePointer) -> Int32 {
    let context = Unmanaged.passUnretained(self).toOpaque()
    archive_read_set_read_callback(archive) { _, context, start in
      guard let context, let start else { return -1 }
      return Unmanaged<ArchiveFeed>.fromOpaque(context).takeUnretainedValue().read(start)
    }
    if content.length != nil {
      archive_read_set_seek_callback(archive) { _, context, offset, whence in
        guard let context else { return -1 }
        return Unmanaged<ArchiveFeed>.fromOpaque(context).takeUnretainedValue().seek(offset, whence)
      }
    }
    archive_read_set_callback_data(archive, context)
    return archive_read_open1(archive)
  }

  /// What was handed over last, from a place in the content on; valid until more is read.
  func rest(from offset: UInt64) -> UnsafeRawBufferPointer {
    let count = min(position - min(offset, position), UInt64(last.count))
    return UnsafeRawBufferPointer(rebasing: last.suffix(Int(count)))
  }

  private func read(_ start: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int {
    guard failure == nil else { return -1 }
    do throws(BatchError) {
      let piece = try content.next()
      start.pointee = piece.baseAddress
      delivered += UInt64(piece.count)
      position += UInt64(piece.count)
      last = piece
      return piece.count
    } catch {
      failure = error
      return -1
    }
  }

  private func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
    guard let length = content.length else { return Int64(ARCHIVE_FATAL) }
    let base: UInt64 =
      switch whence {
      case SEEK_CUR: position
      case SEEK_END: length
      default: 0
      }
    guard let from = Int64(exactly: base) else { return Int64(ARCHIVE_FATAL) }
    let (target, isTooFar) = from.addingReportingOverflow(offset)
    guard !isTooFar, target >= 0, UInt64(target) <= length else { return Int64(ARCHIVE_FATAL) }
    position = UInt64(target)
    content.seek(to: position)
    return target
  }
}
