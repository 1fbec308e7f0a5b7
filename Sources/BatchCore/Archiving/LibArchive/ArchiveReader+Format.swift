import BatchEngine
import CArchive

extension ArchiveReader {
  /// Opens an archive from its beginning, with any compression.
  ///
  /// - Parameter requiresMembers: whether an index shows that there are members.
  /// - Throws: `malformed` when it is in no known format, `unsupported` for a format that is recognized but cannot be read.
  convenience init(
    _ content: FileContent, name: PathBytes, requiresMembers: Bool = false, limits: ArchiveLimits,
    by right: ReadingRight
  ) throws(BatchError) {
    let isUnicode = try Self.isUnicode(content, named: name)
    let format = try Self.format(of: content)
    let foreign = content.foreignFormats
    let isReadOnDemand = format?.kind == .archive && !foreign.areReadHere
    let remedy: Remedy? = isReadOnDemand ? .readAllFormats : nil
    // An ISO image begins with zeros, as a tar without members does. An ar may end with a zip.
    if let format, isReadOnDemand, content.start.first == 0 || foreign.areReadByProcess {
      throw BatchError(.unsupported, format.message, path: name, remedy: remedy)
    }
    let fact = content.format?.codec.checksFact(start: content.start)
    let isPart = Self.isNamedAsPart(name)
    do throws(BatchError) {
      try self.init(
        content, name: name, isUnicode: isUnicode, requiresMembers: requiresMembers,
        claim: (NameClaim(of: name), content.format), readsAllFormats: foreign.areReadHere, limits: limits,
        by: right)
    } catch {
      guard error.message == Self.unknownFormat, let format else {
        throw isPart ? Self.part(name, error) : error
      }
      throw BatchError(.unsupported, format.message, path: name, remedy: remedy)
    }
    compressionFact = fact
    do throws(BatchError) {
      if let file = content.file { sevenZip = try SevenZipChecks(file, name: name) }
    } catch {
      throw isPart ? Self.part(name, error) : error
    }
  }

  /// The error for one of several files that together are an archive.
  private static func part(_ name: PathBytes, _ error: BatchError) -> BatchError {
    guard error.code == .malformed else { return error }
    return BatchError(
      .unsupported, "unsupported: a part of several", path: name,
      remedy: "join all parts with `cat`, or with `zip -s 0`, and give the result")
  }

  /// What begins the first part of a zip.
  private static let splitMark = Array("PK\u{7}\u{8}".utf8)

  /// Whether a name ends in the number of a part, such as `.001` or `.z01`.
  private static func isNamedAsPart(_ name: PathBytes) -> Bool {
    let suffix = name.bytes.suffix(4)
    guard suffix.count == 4, suffix.first == UInt8(ascii: ".") else { return false }
    let number = suffix.dropFirst(suffix.dropFirst().first == UInt8(ascii: "z") ? 2 : 1)
    return number.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// The possible first bytes of a zip or a self-extracting program.
  private static let zipStarts = ["PK\u{3}\u{4}", "PK\u{5}\u{6}", "MZ", "\u{7F}ELF", "#!"].map {
    Array($0.utf8)
  }
  private static let ustarMark = (place: 257, bytes: Array("ustar".utf8))

  /// Whether names are text, as in zip and 7z; in a file, a program or padding may precede the zip.
  ///
  /// Then shortens the content of a zip in a file to its last record.
  ///
  /// - Throws: `unsupported` for a part of a zip.
  private static func isUnicode(_ content: FileContent, named name: PathBytes) throws(BatchError) -> Bool {
    guard content.format == nil else { return false }
    let start = content.start
    let isNamed = ["PK", "7z"].contains { start.starts(with: Array($0.utf8)) }
    // The last member of a tar may be a zip.
    guard let file = content.file, !start.dropFirst(ustarMark.place).starts(with: ustarMark.bytes) else {
      return isNamed
    }
    do throws(BatchError) {
      let end = try ZipEnd(file)
      // Without the comment, because libarchive searches the record only in the last 16 KiB, and takes the last one.
      if zipStarts.contains(where: { start.starts(with: $0) }) { content.cut(at: end.commentStart) }
      return true
    } catch {
      // libarchive recognizes other formats. Damage of a zip is reported with its members.
      let isZip = isNamed || ArchiveFormat(suffixOf: name)?.container == .zip
      guard error.code == .malformed || (error.code == .unsupported && !isZip) else { throw error }
      guard !start.starts(with: splitMark) else { throw part(name, error) }
      return isNamed
    }
  }

  /// The format of the content, if it needs `--all-formats`.
  private static func format(of content: FileContent) throws(BatchError) -> UnsupportedFormat? {
    if let format = UnsupportedFormat.detect(content.start) { return format }
    // An ISO image is recognized by its 17th sector.
    guard let file = content.file, let size = content.length, size >= UInt64(UnsupportedFormat.isoLength)
    else {
      return nil
    }
    return UnsupportedFormat.detect(try file.bytes(at: 0, count: UnsupportedFormat.isoLength))
  }

  /// A sentence: what was compared besides the checksums of the compression, and what has no checksum in this format.
  var checksFact: String {
    switch base {
    case ARCHIVE_FORMAT_ZIP:
      "compared the CRC-32 of each member, and the directory of the zip with its members"
    case ARCHIVE_FORMAT_7ZIP: "compared the CRC-32 of each member and of the headers of 7z"
    case ARCHIVE_FORMAT_TAR: "compared the checksum of each header; tar has none for contents"
    case ARCHIVE_FORMAT_CPIO:
      "cpio has no checksums, so damage to contents cannot be detected; tar.zst has them"
    case ARCHIVE_FORMAT_RAR, ARCHIVE_FORMAT_RAR_V5, ARCHIVE_FORMAT_LHA, ARCHIVE_FORMAT_CAB:
      "compared the checksums of each member"
    default: "the format has no checksums, so damage to contents cannot be detected"
    }
  }

  /// Whether a member has an owner; in formats without owners all files would belong to root.
  func tellsOwner(of entry: ArchiveEntry) -> Bool {
    switch base {
    case ARCHIVE_FORMAT_7ZIP: false
    case ARCHIVE_FORMAT_ZIP: entry.owner != 0 || entry.group != 0
    default: true
    }
  }
}
