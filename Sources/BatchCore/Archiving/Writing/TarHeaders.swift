import BatchEngine
import CArchive

/// Makes the headers of tar members: all that stands before their content.
///
/// libarchive writes them, but for those that ``UstarHeader`` puts together: one writer after the other and never
/// its end of the archive, so that segments which are made apart can stand one behind the other. It is pax interchange and not its restricted kind, which
/// leaves out the nanoseconds of times.
final class TarHeaders {
  /// A writer, in the one of two states: with its last member finished, or about to be thrown away.
  private final class Writer {
    let archive: OpaquePointer
    let collector = LibraryOutput()

    init(isBinary: Bool) throws(BatchError) {
      guard let archive = archive_write_new() else { throw .noCodecMemory }
      self.archive = archive
      guard archive_write_set_format_pax(archive) == ARCHIVE_OK,
        // The other form is written beside it, which stock tar complains of.
        archive_write_set_format_option(archive, "pax", "xattrheader", "SCHILY") == ARCHIVE_OK,
        !isBinary || archive_write_set_format_option(archive, "pax", "hdrcharset", "BINARY") == ARCHIVE_OK,
        collector.open(archive) == ARCHIVE_OK
      else { throw .library(archive, "write a tar archive") }
    }

    deinit {
      // Otherwise freeing would finish the archive.
      archive_write_fail(archive)
      archive_write_free(archive)
    }
  }

  /// The writer fills content that is announced and not given with zeros; above this size a new writer costs less.
  private static let mostZeros: UInt64 = 256 << 10

  private let entry: LibraryEntry
  private var textWriter: Writer?
  private var binaryWriter: Writer?

  init() throws(BatchError) {
    entry = try LibraryEntry()
  }

  /// Appends the header of a member; its content, as long as it says, follows from somewhere else, then
  /// ``pad(_:from:)``.
  ///
  /// Of a sparse file the map of its data belongs to the header, and the data alone follows.
  ///
  /// - Throws: `invalid` for what tar has no place for.
  func append(_ member: ArchiveEntry, to bytes: inout [UInt8]) throws(BatchError) {
    if try UstarHeader.append(member, to: &bytes) { return }
    try appendByLibrary(member, to: &bytes)
  }

  /// The same by libarchive, whatever the member is.
  func appendByLibrary(_ member: ArchiveEntry, to bytes: inout [UInt8]) throws(BatchError) {
    let isBinary = !Self.isText(member)
    let kept = isBinary ? binaryWriter : textWriter
    let writer = if let kept { kept } else { try Writer(isBinary: isBinary) }
    // Put back when everything went well.
    if isBinary { binaryWriter = nil } else { textWriter = nil }
    entry.fill(member)
    let start = bytes.count
    swap(&writer.collector.bytes, &bytes)
    // Names that are text are UTF-8 here, whatever the locale of the process is.
    let status = ArchiveLocale.unicode.use { archive_write_header(writer.archive, entry.pointer) }
    let mode = UInt32(archive_entry_perm(entry.pointer))
    if status >= ARCHIVE_WARN, mode != member.mode & 0o7777 {
      Self.set(
        mode: member.mode & 0o7777, at: writer.collector.bytes.count - TarBlock.size,
        of: &writer.collector.bytes)
    }
    // The map of a sparse file is written with the first data, were it nothing.
    if status >= ARCHIVE_WARN, member.dataMap != nil { archive_write_data(writer.archive, nil, 0) }
    swap(&writer.collector.bytes, &bytes)
    if isBinary, member.dataMap != nil { SparseName.complete(member.path, in: &bytes, from: start) }
    guard status >= ARCHIVE_WARN else {
      throw .library(writer.archive, "archive", path: member.path)
    }
    let stored = member.dataMap.map { $0.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) } } ?? member.size
    guard member.kind != .file || stored <= Self.mostZeros else { return }
    if member.kind == .file, member.size > 0 {
      writer.collector.isClosed = true
      let finished = archive_write_finish_entry(writer.archive)
      writer.collector.isClosed = false
      guard finished == ARCHIVE_OK else { return }
    }
    if isBinary { binaryWriter = writer } else { textWriter = writer }
  }

  /// Writes the mode of a member into its header, which begins at an offset, and the sum of the header.
  ///
  /// libarchive puts the rights of the owning group there where a member has an access control list; those of
  /// its mask belong there, as `stat(2)` has them.
  private static func set(mode: UInt32, at start: Int, of bytes: inout [UInt8]) {
    guard start >= 0 else { return }
    bytes.replaceSubrange(
      (start + 100)..<(start + 108), with: octal(UInt64(mode), digits: 6) + [UInt8(ascii: " "), 0])
    setSum(at: start, of: &bytes)
  }

  /// Writes the size of what follows a header, and the sum of the header.
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

  /// Whether libarchive may take all names for UTF-8. It mends what is nearly that, so it is not asked.
  private static func isText(_ member: ArchiveEntry) -> Bool {
    isText(member.path.bytes) && isText(member.linkTarget?.bytes ?? [])
      && isText(member.ownerName) && isText(member.groupName)
  }

  private static func isText(_ bytes: [UInt8]) -> Bool {
    bytes.allSatisfy { $0 < 0x80 } || String(validating: bytes, as: UTF8.self) != nil
  }
}
