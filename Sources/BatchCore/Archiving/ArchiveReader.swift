import CArchive
import Glibc

/// Reads the members of an archive one after the other, in any format that stock tools write: tar in its
/// dialects, cpio, zip, 7z.
///
/// libarchive parses; it is given formats by name, never runs a program, and writes nothing. Its warnings are
/// kept, members that it cannot make sense of are passed on as such, and what it cannot go on from ends the
/// reading. One thread at a time uses a reader.
final class ArchiveReader {
  /// One step of the reading.
  enum Member {
    case entry(ArchiveEntry)
    /// There is one, and it cannot be made use of; reading goes on behind it.
    case unusable(BatchError)
  }

  /// A tool that is asked the same again and again without an answer would run for ever.
  private static let mostIdleSteps = 1000
  private static let blockSize: UInt64 = 512

  static let moreRemark = "there is more behind the end of the archive, which is not read"
  static let loneBlockRemark = "of the two blocks that end the archive one is missing"

  /// Remarks that do not keep a member from being read, each once.
  private(set) var remarks: [String] = []
  /// Bytes of content that were handed out.
  private(set) var plainCount: UInt64 = 0

  private let name: PathBytes
  private let archive: OpaquePointer
  private let feed: ArchiveFeed
  private let locale: ArchiveLocale
  private let requiresEnd: Bool
  private let limits: ArchiveLimits
  /// Where the content of the last member that was passed ends, its padding included.
  private(set) var boundary: UInt64 = 0
  private var isInside = false

  /// - Parameters:
  ///   - name: of the archive, for messages.
  ///   - isUnicode: whether names are in UTF-16 or marked as UTF-8, as in 7z and zip.
  ///   - requiresEnd: whether a tar has to have the blocks that end it; a part of one has none.
  /// - Throws: `malformed` when it is in no known format.
  init(
    _ content: any ArchiveContent, name: PathBytes, isUnicode: Bool = false, requiresEnd: Bool = true,
    limits: ArchiveLimits = ArchiveLimits()
  ) throws(BatchError) {
    self.name = name
    self.requiresEnd = requiresEnd
    self.limits = limits
    locale = isUnicode ? .unicode : .bytes
    feed = ArchiveFeed(content)
    guard let archive = archive_read_new() else { throw .noCodecMemory }
    self.archive = archive
    archive_read_support_format_tar(archive)
    if requiresEnd {
      archive_read_support_format_cpio(archive)
      archive_read_support_format_zip_streamable(archive)
      archive_read_support_format_7zip(archive)
      if content.length != nil { archive_read_support_format_zip_seekable(archive) }
    }
    let result = locale.use { feed.open(archive) }
    guard result >= ARCHIVE_WARN else { throw failure() }
  }

  /// Opens an archive from its beginning, whatever it is compressed with.
  convenience init(_ content: FileContent, name: PathBytes, limits: ArchiveLimits) throws(BatchError) {
    let start = content.start
    let isUnicode =
      content.format == nil && (start.starts(with: Array("PK".utf8)) || start.starts(with: Array("7z".utf8)))
    try self.init(content, name: name, isUnicode: isUnicode, limits: limits)
  }

  deinit {
    archive_read_free(archive)
  }

  /// The format as libarchive calls it, known from the first member on.
  var formatName: String {
    guard let text = archive_format_name(archive) else { return "unknown" }
    return String(cString: text)
  }

  /// Where the headers of the last member begin in the content.
  var headerStart: UInt64 { UInt64(clamping: archive_read_header_position(archive)) }

  /// Whether the content has checks of its own that were compared, beside those of the compression.
  var isTar: Bool { archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK == ARCHIVE_FORMAT_TAR }

  /// Whether members have owners; formats that keep none give all files to root.
  func tellsOwner(of entry: ArchiveEntry) -> Bool {
    switch archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK {
    case ARCHIVE_FORMAT_7ZIP: false
    case ARCHIVE_FORMAT_ZIP: entry.owner != 0 || entry.group != 0
    default: true
    }
  }

  /// The next member; nil behind the last one, when the archive ends as its format demands.
  ///
  /// - Throws: `malformed` where it cannot be read further.
  func next() throws(BatchError) -> Member? {
    // So the place is known behind which only the end may come.
    if isInside { try skipContent() }
    for _ in 0..<Self.mostIdleSteps {
      var entry: OpaquePointer?
      let result = locale.use { archive_read_next_header(archive, &entry) }
      switch result {
      case ARCHIVE_EOF:
        try checkEnd()
        return nil
      case ARCHIVE_OK, ARCHIVE_WARN:
        guard let entry else { throw failure() }
        if result == ARCHIVE_WARN { remark() }
        isInside = true
        return member(of: entry)
      case ARCHIVE_FAILED:
        isInside = true
        return .unusable(failure())
      case ARCHIVE_RETRY: continue
      default: throw failure()
      }
    }
    throw BatchError(.malformed, "damaged: reading makes no progress", path: name)
  }

  /// Hands out the content of the last member: pieces in order, with their places; what lies between is holes.
  ///
  /// - Throws: `malformed` when the content is not to be had, what `body` throws, and `exhausted` at a limit.
  func readContent(
    _ body: (UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void
  ) throws(BatchError) {
    var idle = 0
    var end: UInt64 = 0
    while true {
      var start: UnsafeRawPointer?
      var count = 0
      var offset: Int64 = 0
      let result = archive_read_data_block(archive, &start, &count, &offset)
      switch result {
      case ARCHIVE_EOF: return
      case ARCHIVE_OK, ARCHIVE_WARN:
        if result == ARCHIVE_WARN { remark() }
        guard let place = UInt64(exactly: offset), place >= end else {
          throw BatchError(.malformed, "damaged: its parts overlap")
        }
        guard count > 0 else {
          idle += 1
          guard idle < Self.mostIdleSteps else {
            throw BatchError(.malformed, "damaged: reading makes no progress")
          }
          continue
        }
        idle = 0
        let (next, isHuge) = place.addingReportingOverflow(UInt64(count))
        guard !isHuge else { throw BatchError(.malformed, "damaged: no file is as large") }
        end = next
        plainCount += UInt64(count)
        try limits.check(plain: plainCount, compressed: feed.content.bytesRead)
        try body(UnsafeRawBufferPointer(start: start, count: count), place)
      case ARCHIVE_RETRY: continue
      default: throw failure()
      }
    }
  }

  /// Reads what follows the archive, so that the checksums of the compression are compared to the last one, and
  /// nothing is passed over without a word.
  func drain() throws(BatchError) {
    if let failure = feed.failure { throw failure }
    let isFile = feed.content.length != nil
    let isBareTar = isTar && archive_filter_code(archive, 0) == ARCHIVE_FILTER_NONE
    guard !isFile || isBareTar else { return }
    var trailing = TrailingBytes()
    if isBareTar { trailing.add(feed.rest(from: UInt64(clamping: archive_filter_bytes(archive, 0)))) }
    // What is not compressed has no checksums, and may go on for long.
    while !isFile || !trailing.isSurelyMore {
      let piece = try feed.content.next()
      if piece.isEmpty { break }
      if isBareTar { trailing.add(piece) }
    }
    if trailing.isMore || feed.content.hasGarbage { remarks.append(Self.moreRemark) }
  }

  // MARK: Steps

  private func skipContent() throws(BatchError) {
    let result = archive_read_data_skip(archive)
    isInside = false
    guard result >= ARCHIVE_FAILED else { throw failure() }
    boundary = UInt64(clamping: archive_filter_bytes(archive, 0))
  }

  /// A tar that was cut off between two members reads as one that ends there.
  private func checkEnd() throws(BatchError) {
    if let failure = feed.failure { throw failure }
    let isBare = archive_format(archive) == 0 || isTar || feed.delivered == 0
    guard requiresEnd, isBare else { return }
    let end = UInt64(clamping: archive_filter_bytes(archive, 0))
    guard end >= boundary + Self.blockSize else {
      throw BatchError(.malformed, "truncated: the blocks that end the archive are missing", path: name)
    }
    if end < boundary + 2 * Self.blockSize { remarks.append(Self.loneBlockRemark) }
  }

  private func member(of entry: OpaquePointer) -> Member {
    do throws(BatchError) {
      var member = try locale.use { () throws(BatchError) in try ArchiveEntry(libarchive: entry) }
      // libarchive takes the minus of a time for one of its seconds alone.
      let time = member.modified
      if isTar, time.seconds < 0, time.nanoseconds > 0 {
        member.modified = FileStatus.Time(
          seconds: time.seconds - 1, nanoseconds: 1_000_000_000 - time.nanoseconds)
      }
      return .entry(member)
    } catch {
      return .unusable(error)
    }
  }

  private func remark() {
    guard let text = archive_error_string(archive).map({ String(cString: $0) }) else { return }
    // The names are what they are: it was asked not to convert them.
    if text.contains("be converted") { return }
    if remarks.count < 100, !remarks.contains(text) { remarks.append(text) }
  }

  private func failure() -> BatchError {
    if let failure = feed.failure { return failure }
    guard let text = archive_error_string(archive).map({ String(cString: $0) }) else {
      return BatchError(.malformed, "damaged", path: name)
    }
    if text.hasPrefix("Unrecognized archive format") {
      return BatchError(.malformed, "in no known archive format", path: name)
    }
    return BatchError(.malformed, "damaged: \(text)", path: name)
  }
}
