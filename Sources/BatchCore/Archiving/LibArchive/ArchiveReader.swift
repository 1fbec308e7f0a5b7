import BatchEngine
import CArchive

/// Reads the members of an archive one after the other, in any format that stock tools write: tar in its
/// dialects, cpio, zip, 7z.
///
/// libarchive parses; formats are enabled by name, and it never runs a program or writes. Its warnings are kept, members that
/// it cannot interpret are returned as unusable, and fatal errors end the reading. One thread at a time uses a reader.
final class ArchiveReader: MemberReader {
  /// One step of the reading.
  enum Member {
    case entry(ArchiveEntry)
    /// A member that is damaged or unsupported, or a part of the archive without a valid header. Reading can continue after it.
    /// The code of the error distinguishes them: `malformed` is damage. The error has no path when it does not concern a
    /// member.
    case unusable(BatchError)
  }

  /// More calls without progress end the reading: libarchive could loop forever.
  private static let mostIdleSteps = 1000
  private static let blockSize: UInt64 = 512
  private static let mostGaps = 20
  static let unknownFormat = "in no known archive format"
  private static let noProgress = "damaged: reading makes no progress"

  /// Remarks that do not prevent reading a member, each once.
  var remarks: [String] = []
  /// Whether a member, or damage instead of one, was read.
  private(set) var hasMembers = false
  /// What the checksums of the compression cover; nil if not compressed.
  var compressionFact: String?
  /// The format claimed by the name of the archive, and the recognized compression.
  let claim: (name: NameClaim?, compression: CompressionFormat?)
  let requiresMembers: Bool
  /// The size that counts for folders, in bytes.
  private var folderBytes: UInt64 = 0
  /// Bytes of content that were returned.
  private(set) var plainCount: UInt64 = 0

  let name: PathBytes
  private let archive: OpaquePointer
  let feed: ArchiveFeed
  private let locale: ArchiveLocale
  private let requiresEnd: Bool
  private let limits: ArchiveLimits
  /// The end of the content of the last passed member, including its padding.
  private(set) var boundary: UInt64 = 0
  private var isInside = false
  /// How many places between members are damaged.
  private var gapCount = 0
  /// The error that follows the number of these places.
  private var kept: BatchError?
  /// The error after which libarchive is not called any more: its behavior then differs by format, and it may crash.
  private var ending: BatchError?
  /// The end of the last returned piece of content in its file.
  private var contentEnd: UInt64 = 0
  private var isEncrypted = false
  /// Whether ``headerCheck`` is needed.
  private let checksHeaders: Bool
  /// The checks of the format, once it is known.
  private var checks: (any FormatChecks)?
  var sevenZip = SevenZipChecks()
  /// Members that were found after damage, which is reported first; nil for the end of the archive.
  private var found: [Member?] = []

  /// - Parameters:
  ///   - name: the name of the archive, for messages.
  ///   - isUnicode: whether names are in UTF-16 or marked as UTF-8, as in 7z and zip.
  ///   - requiresEnd: whether a tar must have its end blocks; a part of a tar has none.
  ///   - requiresMembers: whether the archive has an index, so that one without members is damaged.
  ///   - claim: the format claimed by its name, and the recognized compression.
  ///   - readsAllFormats: whether formats are enabled that are read only on request.
  ///   - checksHeaders: whether ``headerCheck`` is needed.
  /// - Throws: `malformed` when it is in no known format.
  init(
    _ content: any ArchiveContent, name: PathBytes, isUnicode: Bool = false, requiresEnd: Bool = true,
    requiresMembers: Bool = false, claim: (name: NameClaim?, compression: CompressionFormat?) = (nil, nil),
    readsAllFormats: Bool = false, checksHeaders: Bool = false,
    limits: ArchiveLimits = ArchiveLimits(), by right: ReadingRight
  ) throws(BatchError) {
    self.checksHeaders = checksHeaders
    self.claim = claim
    self.requiresMembers = requiresMembers
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
    if readsAllFormats {
      // Not xar: its reader needs an XML library and a Unicode library. Not warc: its reader fails on intact archives.
      archive_read_support_format_ar(archive)
      archive_read_support_format_cab(archive)
      archive_read_support_format_iso9660(archive)
      archive_read_support_format_lha(archive)
      archive_read_support_format_rar(archive)
      archive_read_support_format_rar5(archive)
    }
    let result = locale.use { feed.open(archive) }
    guard result >= ARCHIVE_WARN else { throw failure() }
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

  var isTar: Bool { base == ARCHIVE_FORMAT_TAR }

  /// The checksum of the headers of the last tar member, if needed.
  var headerCheck: HeaderChecksum? { checks?.headerCheck }

  private var place: ReadPlace { ReadPlace(feed: feed, position: position, name: name) }

  /// The next member; nil after the last one, if the archive ends as its format demands. Of the damage between members, the first
  /// places are returned one by one, and the number of the others at the end.
  ///
  /// - Throws: `malformed` if the archive cannot be read further.
  func next() throws(BatchError) -> Member? {
    if let failure = kept {
      kept = nil
      throw failure
    }
    do throws(BatchError) {
      while true {
        guard let member = try nextOfAll() else { break }
        guard case .unusable(let error) = member, error.path == nil, error.code == .malformed else {
          return member
        }
        gapCount += 1
        if gapCount <= Self.mostGaps { return member }
      }
    } catch {
      guard gapCount > Self.mostGaps else { throw error }
      kept = error
    }
    guard gapCount > Self.mostGaps else { return nil }
    defer { gapCount = 0 }
    let count = gapCount - Self.mostGaps
    return .unusable(BatchError(.malformed, "damaged: \(count) more places between members"))
  }

  private func nextOfAll() throws(BatchError) -> Member? {
    if !found.isEmpty { return found.removeFirst() }
    if let ending { throw ending }
    // Skips the content, so that the offset after it is known.
    if isInside { try skipContent() }
    contentEnd = 0
    let start = position
    var headerStart = start
    while true {
      feed.keep(from: headerStart)
      var entry: OpaquePointer?
      let result = locale.use { archive_read_next_header(archive, &entry) }
      guard result == ARCHIVE_RETRY else {
        let member = try step(result, entry)
        feed.stopKeeping()
        guard headerStart > start else { return member }
        found.insert(member, at: 0)
        return .unusable(
          BatchError(.malformed, "damaged: no valid header in bytes \(start) to \(headerStart)"))
      }
      // libarchive has skipped one block of a tar, and searches a header in the next one.
      guard position > headerStart else { throw BatchError(.malformed, Self.noProgress, path: name) }
      headerStart = position
      boundary = position
    }
  }

  private func step(_ result: Int32, _ entry: OpaquePointer?) throws(BatchError) -> Member? {
    if result == ARCHIVE_EOF {
      let losses = try checkEnd()
      found = losses.dropFirst().map { .unusable($0) } + [nil]
      return losses.first.map { .unusable($0) }
    }
    guard result >= ARCHIVE_FAILED, let entry else { throw failure(after: result) }
    hasMembers = true
    // After a failed header there is no content to skip.
    isInside = result != ARCHIVE_FAILED
    // Some formats record an error of a member but return ARCHIVE_OK.
    let message = message
    archive_clear_error(archive)
    let damage = try beginFormat()
    let member = try step(of: entry, message, hasFailed: result == ARCHIVE_FAILED)
    guard let damage else { return member }
    found.insert(member, at: 0)
    return .unusable(damage)
  }

  private func step(
    of entry: OpaquePointer, _ message: LibArchiveMessage?, hasFailed: Bool
  ) throws(BatchError) -> Member {
    let member = try member(of: entry)
    guard let message else { return member }
    if message.meaning == .harmless || (isEncrypted && message.isOfChecksum), !hasFailed { return member }
    if message.isGap {
      found = [member]
      return .unusable(message.error)
    }
    if message.meaning == .noMemory { throw message.error }
    guard case .entry(let described) = member else { return .unusable(message.error) }
    return .unusable(message.error.at(described.path))
  }

  /// The next piece of the content of the last member, with its offset; nil at the end. Valid until the next call.
  ///
  /// - Throws: `malformed` when the content is not readable, and `exhausted` at a limit.
  func nextPiece() throws(BatchError) -> (bytes: UnsafeRawBufferPointer, offset: UInt64)? {
    guard !isEncrypted else { throw Self.encrypted }
    if let ending { throw ending }
    if checks?.hasNoContent == true { return nil }
    for _ in 0..<Self.mostIdleSteps {
      var start: UnsafeRawPointer?
      var count = 0
      var offset: Int64 = 0
      let result = archive_read_data_block(archive, &start, &count, &offset)
      switch result {
      case ARCHIVE_EOF:
        guard archive_error_string(archive) == nil else { throw failure(after: result, ofContent: true) }
        return nil
      case ARCHIVE_OK:
        guard let place = UInt64(exactly: offset), place >= contentEnd else {
          throw BatchError(.malformed, "damaged: its parts overlap")
        }
        if count == 0 { continue }
        let (next, isHuge) = place.addingReportingOverflow(UInt64(count))
        guard !isHuge else { throw BatchError(.malformed, "damaged: no file is as large") }
        contentEnd = next
        plainCount += UInt64(count)
        try checkLimits()
        return (UnsafeRawBufferPointer(start: start, count: count), place)
      // A warning about content means damage: libarchive reports a wrong checksum as a warning.
      default: throw failure(after: result, ofContent: true)
      }
    }
    throw BatchError(.malformed, Self.noProgress)
  }

  /// - Parameter folders: the size that counts for the folders needed so far, in bytes.
  /// - Throws: `exhausted` at a limit.
  func count(folders: UInt64) throws(BatchError) {
    guard folders != folderBytes else { return }
    folderBytes = folders
    try checkLimits()
  }

  private func checkLimits() throws(BatchError) {
    let (plain, isHuge) = plainCount.addingReportingOverflow(folderBytes)
    try limits.check(plain: isHuge ? .max : plain, compressed: bytesRead)
  }

  /// Bytes of the archive file that were read so far.
  var bytesRead: UInt64 { feed.content.bytesRead }

  /// Whether the content begins with a zero byte. Read before ``next()`` is called.
  var beginsWithZero: Bool { feed.rest(from: 0).first == 0 }

  // MARK: Steps

  /// The offset after the last byte that libarchive took, in the decompressed content.
  var position: UInt64 { UInt64(clamping: archive_filter_bytes(archive, 0)) }

  /// The format without its dialect, a number of libarchive.
  var base: Int32 { archive_format(archive) & ARCHIVE_FORMAT_BASE_MASK }

  private func skipContent() throws(BatchError) {
    if checks?.mustBeRead == true { while try nextPiece() != nil {} }
    let result = archive_read_data_skip(archive)
    isInside = false
    guard result == ARCHIVE_OK else { throw failure(after: result, ofContent: true) }
    boundary = position
  }

  /// Chooses the checks of the format, once.
  ///
  /// - Returns: damage of the headers of the archive.
  private func beginFormat() throws(BatchError) -> BatchError? {
    guard checks == nil else { return nil }
    var checks: any FormatChecks =
      switch base {
      case ARCHIVE_FORMAT_TAR: TarChecks(headerChecks: checksHeaders)
      case ARCHIVE_FORMAT_CPIO: CpioChecks()
      case ARCHIVE_FORMAT_ZIP: ZipChecks()
      case ARCHIVE_FORMAT_7ZIP: sevenZip
      default: OtherChecks()
      }
    defer { self.checks = checks }
    return try checks.begin(place, &remarks)
  }

  /// Checks the end: a tar that was truncated between two members reads as complete.
  ///
  /// - Returns: what was lost.
  private func checkEnd() throws(BatchError) -> [BatchError] {
    if let failure = feed.failure { throw failure }
    let damage = try beginFormat()
    let losses = try checks?.checkEnd(place, &remarks) ?? []
    let isBare = archive_format(archive) == 0 || isTar || feed.delivered == 0
    if requiresEnd, isBare {
      let end = position
      guard end >= boundary + Self.blockSize else {
        throw BatchError(.malformed, "truncated: the blocks that end the archive are missing", path: name)
      }
      if end < boundary + 2 * Self.blockSize { remarks.append(Self.loneBlockRemark) }
    }
    // An archive without members has headers too.
    return damage.map { [$0] } ?? losses
  }

  private func member(of entry: OpaquePointer) throws(BatchError) -> Member {
    do throws(BatchError) {
      var member = try described(entry)
      // libarchive applies the minus sign of a time only to its seconds.
      let time = member.modified
      if isTar, time.seconds < 0, time.nanoseconds > 0 {
        member.modified = FileStatus.Time(
          seconds: time.seconds - 1, nanoseconds: 1_000_000_000 - time.nanoseconds)
      }
      do throws(BatchError) {
        try checks?.check(&member, entry, place, &remarks)
        isEncrypted = archive_entry_is_encrypted(entry) != 0
        // The target of a link is stored as content.
        if isEncrypted, member.kind == .symbolicLink { throw Self.encrypted }
        if member.kind == .symbolicLink, member.linkTarget?.isEmpty == true {
          throw BatchError(.malformed, "damaged: a symbolic link without a target")
        }
      } catch {
        throw error.at(member.path)
      }
      return .entry(member)
    } catch {
      guard [.malformed, .unsupported, .special].contains(error.code) else { throw error }
      return .unusable(error)
    }
  }

  private func described(_ entry: OpaquePointer) throws(BatchError) -> ArchiveEntry {
    do throws(BatchError) {
      return try locale.use { () throws(BatchError) in try ArchiveEntry(libarchive: entry) }
    } catch {
      try checks?.passOver(place)
      throw error
    }
  }

  private static let encrypted = BatchError(.unsupported, "unsupported: encrypted")

  /// libarchive's message about the last call; nil if there is none.
  private var message: LibArchiveMessage? {
    archive_error_string(archive).map { LibArchiveMessage(String(cString: $0)) }
  }

  /// The error of a call. Ends the reading if no further call is allowed.
  private func failure(after result: Int32, ofContent isContent: Bool = false) -> BatchError {
    var error = failure()
    if isContent, let checks { error = checks.judged(error) }
    let goesOn = [ARCHIVE_FORMAT_TAR, ARCHIVE_FORMAT_CPIO, ARCHIVE_FORMAT_ZIP, ARCHIVE_FORMAT_7ZIP].contains(
      base)
    if result <= ARCHIVE_FATAL || (isContent && !goesOn) {
      ending = BatchError(
        error.code, error.message + "; it is not read further", path: name, remedy: error.remedy)
    }
    return error
  }

  private func failure() -> BatchError {
    if let failure = feed.failure { return failure }
    guard let message else { return BatchError(.malformed, "damaged", path: name) }
    if message.text.hasPrefix("Unrecognized archive format") {
      return BatchError(.malformed, Self.unknownFormat, path: name)
    }
    return message.error.at(name)
  }
}
