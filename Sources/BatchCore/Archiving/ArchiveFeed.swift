import CArchive
import Glibc

/// Hands content to libarchive, and keeps the error that libarchive has no form for.
final class ArchiveFeed {
  /// libarchive takes no more than a megabyte of extended headers.
  private static let largestHeader = 4 << 20

  let content: any ArchiveContent
  /// What the content threw; every later call fails as well.
  private(set) var failure: BatchError?
  /// How many bytes were handed over.
  private(set) var delivered: UInt64 = 0
  private var position: UInt64 = 0
  private var last = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Where the bytes begin that ``bytes(upTo:)`` returns; nil when none are kept.
  private var keptStart: UInt64?
  /// Those of them that stand before ``last``.
  private var kept: [UInt8] = []

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

  /// Keeps what is handed over from a place on, which must not lie before ``last``.
  func keep(from offset: UInt64) {
    kept.removeAll(keepingCapacity: true)
    keptStart = offset
  }

  /// The bytes from the place that ``keep(from:)`` was given up to another one, without copying them where one piece
  /// holds them all.
  ///
  /// - Returns: nil when they are not in memory, because the reader moved to another place in between.
  func withKeptBytes<Result>(
    upTo end: UInt64, _ body: (UnsafeRawBufferPointer) throws(BatchError) -> Result
  ) throws(BatchError) -> Result? {
    guard let start = keptStart, start <= end, end <= position else { return nil }
    let count = end - start
    guard kept.isEmpty else {
      guard let missing = Int(exactly: count).map({ $0 - kept.count }), missing <= last.count else { return nil }
      if missing > 0 { kept.append(contentsOf: last[..<(last.startIndex + missing)]) }
      return try withBytes(of: kept) { (raw) throws(BatchError) in
        try body(UnsafeRawBufferPointer(rebasing: raw[..<Int(count)]))
      }
    }
    let lastStart = position - UInt64(last.count)
    guard start >= lastStart else { return nil }
    let first = Int(start - lastStart)
    return try body(UnsafeRawBufferPointer(rebasing: last[first..<(first + Int(count))]))
  }

  private func keepLast() {
    guard let start = keptStart else { return }
    let lastStart = position - UInt64(last.count)
    guard kept.count <= Self.largestHeader else { return stopKeeping() }
    if kept.isEmpty {
      guard start >= lastStart, start <= position else { return }
      kept.append(contentsOf: last[Int(start - lastStart)...])
    } else {
      kept.append(contentsOf: last)
    }
  }

  /// Ends what ``keep(from:)`` began.
  func stopKeeping() {
    keptStart = nil
    kept.removeAll(keepingCapacity: kept.count <= 1 << 16)
  }

  private func read(_ start: UnsafeMutablePointer<UnsafeRawPointer?>) -> Int {
    guard failure == nil else { return -1 }
    do throws(BatchError) {
      keepLast()
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
    stopKeeping()
    last = UnsafeRawBufferPointer(start: nil, count: 0)
    position = UInt64(target)
    content.seek(to: position)
    return target
  }
}
