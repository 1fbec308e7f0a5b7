import BatchEngine
import CArchive

/// Creates the headers of tar members: all bytes before their content.
///
/// libarchive writes them, except those that ``UstarHeader`` writes. The end of an archive is never written, so that separate segments can
/// be concatenated. The format is pax, not restricted pax, which omits the nanoseconds of times.
final class TarHeaders {
  /// The writer fills announced but missing content with zeros; above this size a new writer is cheaper.
  private static let mostZeros: UInt64 = 256 << 10

  private let entry: LibArchiveEntry
  // Writers whose last member is finished.
  private var textWriter: LibArchiveWriter?
  private var binaryWriter: LibArchiveWriter?

  init() throws(BatchError) {
    entry = try LibArchiveEntry()
  }

  /// Appends the header of a member. The caller then appends content of the announced size and calls ``pad(_:from:)``.
  ///
  /// For a sparse file the map of data ranges is part of the header, and only the data follows.
  ///
  /// - Throws: `invalid` for a member that tar cannot store.
  func append(_ member: ArchiveEntry, to bytes: inout [UInt8]) throws(BatchError) {
    if try UstarHeader.append(member, to: &bytes) { return }
    try appendByLibrary(member, to: &bytes)
  }

  /// Appends the headers of any member, made by libarchive.
  func appendByLibrary(_ member: ArchiveEntry, to bytes: inout [UInt8]) throws(BatchError) {
    let isBinary = !Self.isText(member)
    let kept = isBinary ? binaryWriter : textWriter
    let writer = if let kept { kept } else { try Self.makeWriter(isBinary: isBinary) }
    // The writer is put back only after success.
    if isBinary { binaryWriter = nil } else { textWriter = nil }
    entry.fill(member)
    let start = bytes.count
    swap(&writer.bytes, &bytes)
    // Names that are text are treated as UTF-8, regardless of the process's locale.
    let status = ArchiveLocale.unicode.use { archive_write_header(writer.archive, entry.pointer) }
    let mode = UInt32(archive_entry_perm(entry.pointer))
    if status >= ARCHIVE_WARN, mode != member.mode & 0o7777 {
      Self.set(
        mode: member.mode & 0o7777, at: writer.bytes.count - TarBlock.size, of: &writer.bytes)
    }
    // The map of a sparse file is written with the first data, even if that is empty.
    if status >= ARCHIVE_WARN, member.dataMap != nil { archive_write_data(writer.archive, nil, 0) }
    swap(&writer.bytes, &bytes)
    if isBinary, member.dataMap != nil { PaxHeader.completeSparseName(member.path, in: &bytes, from: start) }
    if member.attributes.contains(where: { AttributeNames.areEncoded(in: $0.name) }) {
      PaxHeader.correctAttributeNames(in: &bytes, from: start)
    }
    if member.modified.seconds == -1, member.modified.nanoseconds > 0 {
      PaxHeader.correctTime(member.modified, in: &bytes, from: start)
    }
    guard status >= ARCHIVE_WARN else {
      throw .library(writer.archive, "archive", path: member.path)
    }
    let stored = member.dataMap.map { $0.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } } ?? member.size
    guard member.kind != .file || stored <= Self.mostZeros else { return }
    if member.kind == .file, member.size > 0 {
      writer.isClosed = true
      let finished = archive_write_finish_entry(writer.archive)
      writer.isClosed = false
      guard finished == ARCHIVE_OK else { return }
    }
    if isBinary { binaryWriter = writer } else { textWriter = writer }
  }

  private static func makeWriter(isBinary: Bool) throws(BatchError) -> LibArchiveWriter {
    let writer = try LibArchiveWriter()
    let archive = writer.archive
    guard archive_write_set_format_pax(archive) == ARCHIVE_OK,
      // Otherwise a second form of attributes is written too, about which stock tar warns.
      archive_write_set_format_option(archive, "pax", "xattrheader", "SCHILY") == ARCHIVE_OK,
      !isBinary || archive_write_set_format_option(archive, "pax", "hdrcharset", "BINARY") == ARCHIVE_OK,
      writer.open() == ARCHIVE_OK
    else { throw .library(archive, "write a tar archive") }
    return writer
  }

  /// Writes the mode of a member into its header at an offset, and updates the checksum.
  ///
  /// If a member has an access control list, libarchive writes the rights of the owning group; the rights of the mask belong
  /// there, as in `stat(2)`.
  private static func set(mode: UInt32, at start: Int, of bytes: inout [UInt8]) {
    guard start >= 0 else { return }
    bytes.replaceSubrange(
      (start + 100)..<(start + 108), with: octal(UInt64(mode), digits: 6) + [UInt8(ascii: " "), 0])
    setSum(at: start, of: &bytes)
  }

  /// Writes the size of the content into a header, and updates the checksum.
  static func set(size: Int, at start: Int, of bytes: inout [UInt8]) {
    bytes.replaceSubrange(
      (start + 124)..<(start + 136), with: octal(UInt64(size), digits: 11) + [UInt8(ascii: " ")])
    setSum(at: start, of: &bytes)
  }

  private static func setSum(at start: Int, of bytes: inout [UInt8]) {
    let sumField = (start + 148)..<(start + 156)
    bytes.replaceSubrange(sumField, with: repeatElement(UInt8(ascii: " "), count: 8))
    let sum = bytes[start..<(start + TarBlock.size)].reduce(UInt64(0)) { $0 + UInt64($1) }
    bytes.replaceSubrange(sumField, with: octal(sum, digits: 6) + [0, UInt8(ascii: " ")])
  }

  private static func octal(_ number: UInt64, digits: Int) -> [UInt8] {
    stride(from: 3 * (digits - 1), through: 0, by: -3).map {
      UInt8(ascii: "0") + UInt8(number >> UInt64($0) & 7)
    }
  }

  /// Whether all names are valid UTF-8. Checked here, because libarchive repairs names that are nearly valid.
  private static func isText(_ member: ArchiveEntry) -> Bool {
    isText(member.path.bytes) && isText(member.linkTarget?.bytes ?? [])
      && isText(member.ownerName) && isText(member.groupName)
  }

  private static func isText(_ bytes: [UInt8]) -> Bool {
    bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
  }
}
