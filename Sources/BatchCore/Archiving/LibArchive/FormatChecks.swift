import BatchEngine
import CArchive

/// What an ``ArchiveReader`` checks in the members of one format, because libarchive does not.
///
/// The errors `malformed`, `unsupported` and `special` of a member make it unusable; others end the reading.
protocol FormatChecks {
  /// Called once, when the first member or the end is known.
  ///
  /// - Returns: damage of the headers of the archive.
  mutating func begin(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> BatchError?

  /// Checks a member, and adds what libarchive does not say about it.
  ///
  /// - Parameter entry: the member of libarchive.
  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) throws(BatchError)

  /// Takes note of a member of a kind that cannot be extracted.
  mutating func passOver(_ place: ReadPlace) throws(BatchError)

  /// Called at the end that libarchive found.
  ///
  /// - Returns: what was lost.
  /// - Throws: why the archive is incomplete.
  mutating func checkEnd(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> [BatchError]

  /// The checksum of the headers of the last member; nil if it is not needed, or the format has none.
  var headerCheck: HeaderChecksum? { get }

  /// Whether the last member has no content that libarchive must decode.
  var hasNoContent: Bool { get }

  /// Whether libarchive loses its place when it skips the content of the last member.
  var mustBeRead: Bool { get }

  /// What an error of libarchive about the content of the last member means.
  func judged(_ error: BatchError) -> BatchError
}

/// Where a reader is.
struct ReadPlace {
  let feed: ArchiveFeed
  /// The offset after the last byte that libarchive took, in the decompressed content.
  let position: UInt64
  /// The name of the archive.
  let name: PathBytes
}

extension FormatChecks {
  mutating func begin(_ place: ReadPlace, _ remarks: inout [String]) -> BatchError? { nil }
  mutating func passOver(_ place: ReadPlace) {}
  mutating func checkEnd(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> [BatchError] {
    []
  }
  var headerCheck: HeaderChecksum? { nil }
  var hasNoContent: Bool { false }
  var mustBeRead: Bool { false }
  func judged(_ error: BatchError) -> BatchError { error }
}

/// Reads the fields of tar headers that libarchive does not check, or does not pass on unchanged.
struct TarChecks: FormatChecks {
  private let isNeeded: Bool
  private var records = PaxRecords()
  private(set) var headerCheck: HeaderChecksum?
  private(set) var mustBeRead = false

  private static let continuation = BatchError(
    .malformed, "damaged: it continues a file of another volume of the archive",
    remedy: "extract all volumes together with `tar -M`")

  /// - Parameter isNeeded: whether ``headerCheck`` is needed.
  init(headerChecks isNeeded: Bool) { self.isNeeded = isNeeded }

  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) throws(BatchError) {
    headerCheck = nil
    mustBeRead = false
    var (records, headerCheck, mustBeRead) = (records, headerCheck, mustBeRead)
    defer { (self.records, self.headerCheck, self.mustBeRead) = (records, headerCheck, mustBeRead) }
    _ = try place.feed.withKeptBytes(upTo: place.position) { (bytes) throws(BatchError) in
      if isNeeded { headerCheck = HeaderChecksum(of: bytes) }
      let headers = TarHeaderScan(bytes)
      guard try !headers.continuesOtherVolume else { throw Self.continuation }
      guard records.hasGlobals || (headers.isExtended && !headers.holdOnlyTimes) else { return }
      try headers.check()
      try records.apply(headers, to: &member)
      // In the sparse form of Solaris the holes are in the archive too, and libarchive skips the data only.
      if member.dataMap != nil {
        try headers.forEachRecord { mustBeRead = mustBeRead || $0.isNamed("SUN.holesdata") }
      }
    }
    if let remark = records.remark, !remarks.contains(remark) { remarks.append(remark) }
  }
}

/// Checks the headers of cpio, and finds out which names of a file have no content.
struct CpioChecks: FormatChecks {
  /// How many names of a file have been read, none of them with content; by its first name.
  private var emptyNames: [PathBytes: UInt32] = [:]

  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) throws(BatchError) {
    _ = try place.feed.withKeptBytes(upTo: place.position) { (headers) throws(BatchError) in
      try CpioHeader(headers).check()
    }
    let nameCount = archive_entry_nlink(entry)
    member.sharesContent = nameCount > 1 && (member.kind == .file || member.kind == .hardLink)
    guard member.sharesContent else { return }
    let first = member.linkTarget ?? member.path
    let count = member.size > 0 ? 0 : (emptyNames[first] ?? 0) &+ 1
    member.isKnownEmpty = count == nameCount
    emptyNames[first] = count == 0 || count == nameCount ? nil : count
  }

  /// A cpio ends at a name.
  mutating func checkEnd(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> [BatchError] {
    _ = try place.feed.withKeptBytes(upTo: place.position) { (headers) throws(BatchError) in
      do throws(BatchError) { try CpioHeader(headers).checkEnd() } catch { throw error.at(place.name) }
    }
    return []
  }
}

/// Compares the members of a zip with its directory.
struct ZipChecks: FormatChecks {
  private static let behindRemark = "there are bytes after the end of the zip, which are not read"

  /// The directory of a zip in a file; nil if it has no valid one.
  private var directory: ZipMembers?
  private(set) var hasNoContent = false
  private var stream = StreamedZip()

  mutating func begin(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> BatchError? {
    guard let file = place.feed.content.file else { return nil }
    do throws(BatchError) {
      directory = try ZipMembers(file)
      return nil
    } catch {
      guard error.code == .malformed || error.code == .unsupported else { throw error }
      return BatchError(error.code, error.message)
    }
  }

  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) throws(BatchError) {
    hasNoContent = false
    guard let facts = try compare(member, place) else { return member.hasMode = false }
    hasNoContent = facts.isEmptyLZMA
    member.hasMode = facts.hasMode
    member.path = try facts.name.path(member.path)
    if let target = facts.linkTarget { member.linkTarget = target }
  }

  /// The directory names it too.
  mutating func passOver(_ place: ReadPlace) throws(BatchError) { _ = try compare(nil, place) }

  /// - Parameter member: nil for one of a kind that cannot be extracted.
  private mutating func compare(
    _ member: ArchiveEntry?, _ place: ReadPlace
  ) throws(BatchError) -> ZipMembers.Facts? {
    guard place.feed.content.file == nil else { return try directory?.check(member) }
    return try stream.add(place.feed, upTo: place.position)
  }

  mutating func checkEnd(_ place: ReadPlace, _ remarks: inout [String]) throws(BatchError) -> [BatchError] {
    guard place.feed.content.file == nil else {
      try directory?.checkEnd()
      if directory?.hasMore == true { remarks.append(Self.behindRemark) }
      return []
    }
    let (losses, hasMore) = try stream.checkEnd(of: place.feed, from: place.position, name: place.name)
    if hasMore { remarks.append(Self.behindRemark) }
    return losses
  }
}

/// Reports the damage of the headers of a 7z, which are read before libarchive reads them.
struct SevenZipChecks: FormatChecks {
  static let behindRemark = "there are bytes after the end of the 7z archive, which are not read"

  private var header: SevenZipHeader?
  private var damage: BatchError?
  private var number = 0
  /// The coders of the last member.
  private var coders: [SevenZipCoder] = []

  /// For a stream, of which nothing is read ahead.
  init() {}

  /// - Throws: `malformed` for headers that libarchive must not read.
  init(_ file: ArchiveFile, name: PathBytes) throws(BatchError) {
    do throws(BatchError) {
      header = try SevenZipHeader(file)
      if let part = header?.facts.unreadablePart {
        throw BatchError(.unsupported, "unsupported: \(part) in the header of a 7z archive", path: name)
      }
    } catch {
      guard error.code == .malformed, !SevenZipHeader.fatal.contains(error) else { throw error.at(name) }
      damage = BatchError(error.code, error.message)
    }
  }

  mutating func begin(_ place: ReadPlace, _ remarks: inout [String]) -> BatchError? {
    if let header, header.trailingByteCount > 0 { remarks.append(Self.behindRemark) }
    return damage
  }

  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) {
    // libarchive converts names to normal form C. Texts are compared by canonical equivalence.
    if let name = header?.facts.names[number], name.text == member.path.text { member.path = name }
    advance()
    member.setModeFact()
  }

  mutating func passOver(_ place: ReadPlace) { advance() }

  private mutating func advance() {
    let isEmpty = header?.facts.emptyFiles.contains(number) == true
    coders = header?.facts.folders.next(hasContent: !isEmpty) ?? []
    number += 1
  }

  /// libarchive fails with the same text on coders that it decodes in part.
  func judged(_ error: BatchError) -> BatchError {
    let isUnsupported = error.code == .unsupported && !coders.isEmpty && !coders.contains { $0.isCipher }
    let isUndecoded =
      error.code == .malformed && error.message.hasSuffix("Damaged 7-Zip archive")
      && SevenZipCoder.areDecodedInPart(coders)
    guard isUnsupported || isUndecoded else { return error }
    return BatchError(
      .unsupported, "unsupported: 7z with " + coders.reversed().map(\.name).joined(separator: " over "),
      path: error.path)
  }
}

/// For formats that are read on request.
struct OtherChecks: FormatChecks {
  mutating func check(
    _ member: inout ArchiveEntry, _ entry: OpaquePointer, _ place: ReadPlace, _ remarks: inout [String]
  ) {
    member.setModeFact()
  }
}

extension ArchiveEntry {
  /// libarchive does not say whether the archive has a mode, but this is the one that it uses otherwise.
  fileprivate mutating func setModeFact() {
    hasMode = mode != (kind == .directory ? 0o777 : 0o666)
  }
}
