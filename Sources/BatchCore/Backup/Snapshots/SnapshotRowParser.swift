import BatchEngine
import func Glibc.memcmp

/// Reads rows of a backup manifest in the form in which they are written: the same members in the same order, and no escapes.
/// ``SnapshotLine`` reads other rows and takes ten times as long.
struct SnapshotRowParser {
  /// The archive of the previous row, which usually is that of the next one too.
  private var stamp: [UInt8] = []
  private var archive = ""

  /// - Returns: nil for a line that does not have this form; it may still be a valid row.
  mutating func entry(_ line: [UInt8]) -> SnapshotEntry? {
    line.withUnsafeBufferPointer { entry(Cursor(bytes: $0)) }
  }

  /// Whether a line certainly does not belong to a file with several names; the rest of it is not examined.
  static func isWithoutLinks(_ line: [UInt8]) -> Bool {
    line.withUnsafeBufferPointer { bytes in
      var line = Cursor(bytes: bytes)
      guard let kind = kind(&line) else { return false }
      if kind != .file { return true }
      guard line.skip(",\"path\":\""), line.text() != nil, line.skip(",\"size\":"), line.number() != nil,
        line.skip(",\"mtime\":\""), line.time() != nil, line.skip(",\"ctime\":\""), line.time() != nil,
        line.skip(",\"inode\":"), line.number() != nil
      else { return false }
      return line.skip(",\"links\":1,")
    }
  }

  /// The path of a row without escapes, and whether it is a folder; nil for any other line.
  static func plainPath(
    _ line: UnsafeBufferPointer<UInt8>
  ) -> (path: UnsafeBufferPointer<UInt8>, isFolder: Bool)? {
    var line = Cursor(bytes: line)
    guard let kind = kind(&line), line.skip(",\"path\":\""), let path = line.text() else { return nil }
    return (path, kind == .directory)
  }

  private mutating func entry(_ start: Cursor) -> SnapshotEntry? {
    var line = start
    guard let kind = Self.kind(&line), line.skip(",\"path\":\""), let path = line.text(), !path.isEmpty,
      line.skip(",\"size\":"), let size = line.number(), line.skip(",\"mtime\":\""),
      let modified = line.time(),
      line.skip(",\"ctime\":\""), let changed = line.time(), line.skip(",\"inode\":"),
      let inode = line.number(), line.skip(",\"links\":"), let links = line.number(),
      links < SnapshotLine.limit, line.skip(",\"mode\":"), let mode = line.number(), mode < 0o10000,
      line.skip(",\"uid\":"), let owner = line.number().flatMap(UInt32.init(exactly:)),
      line.skip(",\"gid\":"), let group = line.number().flatMap(UInt32.init(exactly:))
    else { return nil }
    var target: PathBytes?
    if line.skip(",\"target\":\"") {
      guard let text = line.text() else { return nil }
      target = PathBytes(text)
    }
    var linkGroup: UInt64?
    if line.skip(",\"link_group\":") {
      guard let number = line.number(), number < SnapshotLine.limit else { return nil }
      linkGroup = number
    }
    var firstName: PathBytes?
    if line.skip(",\"first_name\":\"") {
      guard let text = line.text() else { return nil }
      firstName = PathBytes(text)
    }
    var digest: Digest?
    if line.skip(",\"sha256\":\"") {
      guard let found = line.digest() else { return nil }
      digest = found
    }
    guard line.skip(",\"archive\":\""), let stamp = line.text(), takes(stamp) else { return nil }
    let isUnsettled = line.skip(",\"unsettled\":true")
    guard line.skip("}"), line.isAtEnd, kind == .file || (digest == nil && linkGroup == nil) else {
      return nil
    }
    let name = PathBytes(path)
    guard !name.containsNUL, target?.containsNUL != true, firstName?.containsNUL != true else { return nil }
    return SnapshotEntry(
      kind: kind, path: name, size: size, modified: modified, statusChanged: changed, inode: inode,
      linkCount: links, mode: UInt32(mode), owner: owner, group: group, linkTarget: target,
      linkGroup: linkGroup, firstName: firstName, digest: digest, archive: archive, isUnsettled: isUnsettled)
  }

  private static func kind(_ line: inout Cursor) -> ArchiveEntry.Kind? {
    if line.skip("{\"type\":\"file\"") { return .file }
    if line.skip("{\"type\":\"directory\"") { return .directory }
    if line.skip("{\"type\":\"symbolic_link\"") { return .symbolicLink }
    return nil
  }

  private mutating func takes(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if text.elementsEqual(stamp) { return true }
    guard LocalTime.seconds(ofStamp: text) != nil else { return false }
    stamp = Array(text)
    archive = String(decoding: text, as: UTF8.self)
    return true
  }

  /// A position in a line.
  private struct Cursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
      self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    /// Skips a text; does not move if something else is there.
    mutating func skip(_ text: StaticString) -> Bool {
      let count = text.utf8CodeUnitCount
      guard bytes.count - position >= count, let base = bytes.baseAddress,
        memcmp(base + position, text.utf8Start, count) == 0
      else { return false }
      position += count
      return true
    }

    /// The text up to the next quotation mark, which is skipped too; nil if the text contains an escape or a control byte.
    mutating func text() -> UnsafeBufferPointer<UInt8>? {
      let start = position
      while position < bytes.count {
        let byte = bytes[position]
        if byte == UInt8(ascii: "\\") || byte < 0x20 { return nil }
        position += 1
        if byte == UInt8(ascii: "\"") { return UnsafeBufferPointer(rebasing: bytes[start..<(position - 1)]) }
      }
      return nil
    }

    /// A number of up to 18 digits.
    mutating func number() -> UInt64? {
      let start = position
      var value: UInt64 = 0
      while position < bytes.count, position - start <= 18 {
        let digit = bytes[position] &- UInt8(ascii: "0")
        guard digit < 10 else { break }
        value = value &* 10 &+ UInt64(digit)
        position += 1
      }
      return (1...18).contains(position - start) ? value : nil
    }

    /// A time not before 1970, and skips the quotation mark after it.
    mutating func time() -> FileStatus.Time? {
      guard let seconds = number(), skip(".") else { return nil }
      let start = position
      guard let fraction = number(), position - start == 9, skip("\"") else { return nil }
      return FileStatus.Time(seconds: Int64(seconds), nanoseconds: Int32(fraction))
    }

    /// A SHA-256, and skips the quotation mark after it.
    mutating func digest() -> Digest? {
      let count = DigestAlgorithm.sha256.byteCount * 2
      guard bytes.count - position > count,
        let digest = Digest(.sha256, hex: UnsafeBufferPointer(rebasing: bytes[position..<(position + count)]))
      else { return nil }
      position += count
      return skip("\"") ? digest : nil
    }
  }
}
