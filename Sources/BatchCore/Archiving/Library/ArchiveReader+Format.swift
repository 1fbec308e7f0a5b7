import BatchEngine
import CArchive

extension ArchiveReader {
  /// Opens an archive from its beginning, whatever it is compressed with.
  convenience init(_ content: FileContent, name: PathBytes, limits: ArchiveLimits) throws(BatchError) {
    let start = content.start
    let isUnicode =
      content.format == nil && (start.starts(with: Array("PK".utf8)) || start.starts(with: Array("7z".utf8)))
    let format = try Self.format(of: content)
    let isReadOnDemand = format?.kind == .archive && !content.readsAllFormats
    let remedy: Remedy? = isReadOnDemand ? .readAllFormats : nil
    // An ISO image begins with zeros, as a tar without members does.
    if let format, isReadOnDemand, content.start.first == 0 {
      throw BatchError(.unsupported, format.message, path: name, remedy: remedy)
    }
    do throws(BatchError) {
      try self.init(
        content, name: name, isUnicode: isUnicode, readsAllFormats: content.readsAllFormats, limits: limits)
    } catch {
      guard error.message == Self.unknownFormat, let format else { throw error }
      throw BatchError(.unsupported, format.message, path: name, remedy: remedy)
    }
  }

  /// What the content is, when it is nothing that is always read.
  private static func format(of content: FileContent) throws(BatchError) -> UnsupportedFormat? {
    if let format = UnsupportedFormat.detect(content.start) { return format }
    // An ISO image is recognised by its seventeenth sector.
    guard let file = content.file, let size = content.length, size >= UInt64(UnsupportedFormat.isoLength)
    else {
      return nil
    }
    return UnsupportedFormat.detect(try file.bytes(at: 0, count: UnsupportedFormat.isoLength))
  }

  /// What was compared beside the checksums of the compression, and what the format has no checksum for; a sentence.
  var checksFact: String {
    switch base {
    case ARCHIVE_FORMAT_ZIP:
      "compared the CRC-32 of each member, and the directory of the zip with its members"
    case ARCHIVE_FORMAT_7ZIP: "compared the CRC-32 of each member, and those of the headers of 7z"
    case ARCHIVE_FORMAT_TAR: "compared the checksum of each header; tar has none for contents"
    case ARCHIVE_FORMAT_CPIO:
      "cpio has no checksums, so damage to contents cannot be detected; tar.zst has them"
    case ARCHIVE_FORMAT_RAR, ARCHIVE_FORMAT_RAR_V5, ARCHIVE_FORMAT_LHA, ARCHIVE_FORMAT_CAB:
      "compared the checksums of each member"
    default: "the format has no checksums, so damage to contents cannot be detected"
    }
  }

  /// Whether members have owners; formats that keep none give all files to root.
  func tellsOwner(of entry: ArchiveEntry) -> Bool {
    switch base {
    case ARCHIVE_FORMAT_7ZIP: false
    case ARCHIVE_FORMAT_ZIP: entry.owner != 0 || entry.group != 0
    default: true
    }
  }
}
