import BatchEngine
import CArchive

/// Passes content to libarchive, and keeps an error that libarchive cannot represent.
final class ArchiveFeed {
  private static let fewest = 1 << 10
  /// libarchive accepts at most one megabyte of extended headers.
  private static let largestHeader = 4 << 20

  let content: any ArchiveContent
  /// The error of the content; every later call fails too.
  private(set) var failure: BatchError?
  /// How many bytes were passed.
  private(set) var delivered: UInt64 = 0
  private var position: UInt64 = 0
  private var last = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Copies of the bytes directly before ``last``.
  private var kept: [UInt8] = []
  /// All bytes from this offset on are kept; nil when a few are enough.
  private var mark: UInt64? = 0

  init(_ content: any ArchiveContent) {
    self.content = content
  }

  /// Opens a handle with this object as its input; the object must exist as long as the handle.
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

  /// The last bytes that were passed, from an offset in the content on.
  func rest(from offset: UInt64) -> [UInt8] {
    let count = position - min(offset, position)
    return Array(kept.suffix(Int(count - min(count, UInt64(last.count)))))
      + last.suffix(Int(min(count, UInt64(last.count))))
  }

  private var lastStart: UInt64 { position - UInt64(last.count) }

  /// Keeps the bytes from an offset on, which is that of a header.
  func keep(from offset: UInt64) {
    mark = offset
    let keptStart = lastStart - UInt64(kept.count)
    if offset > keptStart { kept.removeFirst(Int(min(offset - keptStart, UInt64(kept.count)))) }
  }

  func stopKeeping() {
    mark = nil
  }

  /// Calls `body` with the bytes from the offset of ``keep(from:)`` to an end, copied only if they are in several pieces.
  ///
  /// - Returns: nil when they are not in memory, because libarchive has sought elsewhere or because there are too many.
  func withKeptBytes<Result>(
    upTo end: UInt64, _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
  ) throws(BatchError) -> Result? {
    guard let mark, mark <= end, end <= position else { return nil }
    if mark >= lastStart {
      return try body(
        UnsafeRawBufferPointer(rebasing: last[Int(mark - lastStart)..<Int(end - lastStart)]))
    }
    let keptStart = lastStart - UInt64(kept.count)
    guard mark >= keptStart else { return nil }
    let bytes = kept[Int(mark - keptStart)...] + last.prefix(Int(end - min(end, lastStart)))
    return try withBytes(of: Array(bytes.prefix(Int(end - mark))), body)
  }

  /// Copies the bytes that are still needed when ``last`` becomes the next piece.
  private func keepLast() {
    guard let mark else {
      // libarchive reads a few bytes ahead of the content that it returns.
      kept = Array((kept + last.suffix(Self.fewest)).suffix(Self.fewest))
      return
    }
    if kept.count > Self.largestHeader { kept = [] }
    kept += last.dropFirst(
      kept.isEmpty && mark > lastStart ? Int(min(mark - lastStart, UInt64(last.count))) : 0)
  }

  private func read(_ start: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int {
    guard failure == nil else { return -1 }
    do throws(BatchError) {
      keepLast()
      let piece = try content.next()
      guard !piece.isEmpty else {
        // Only the kept bytes remain valid.
        last = UnsafeRawBufferPointer(rebasing: last[last.endIndex...])
        start.pointee = nil
        return 0
      }
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
    kept = []
    last = UnsafeRawBufferPointer(start: nil, count: 0)
    position = UInt64(target)
    content.seek(to: position)
    return target
  }
}
