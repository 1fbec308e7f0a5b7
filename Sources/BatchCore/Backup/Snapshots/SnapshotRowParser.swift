import BatchEngine
import func Glibc.memchr
import func Glibc.memcmp

/// Reads rows of a backup manifest in the form in which they are written: the same members in the same order, and no escapes.
/// ``SnapshotLine`` reads other rows and takes ten times as long.
struct SnapshotRowParser {
  /// The archive of the previous row. Usually the next row has the same one.
  private var stamp: [UInt8] = []
  private var archive = ""

  /// - Returns: nil for a line that does not have this form; it may still be a valid row.
  mutating func entry(_ line: [UInt8]) -> SnapshotEntry? {
    line.withUnsafeBufferPointer { entry($0) }
  }

  private mutating func entry(_ line: UnsafeBufferPointer<UInt8>) -> SnapshotEntry? {
    var entry = SnapshotEntry.blank
    var row = PlainRow(line)
    do throws(PlainRow.OtherForm) { try entry.visitColumns(with: &row) } catch { return nil }
    guard row.isComplete, entry.isConsistent, takes(row.archive) else { return nil }
    entry.archive = archive
    return entry
  }

  private mutating func takes(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if text.elementsEqual(stamp) { return true }
    guard LocalTime.isStamp(text) else { return false }
    stamp = Array(text)
    archive = String(decoding: text, as: UTF8.self)
    return true
  }

  /// A line that says what a snapshot needs of an archive; nil for any other line, and for one that has another form.
  static func need(_ line: [UInt8]) -> (stamp: String, need: SnapshotFooter.Need)? {
    line.withUnsafeBufferPointer { bytes in
      var row = PlainRow(bytes)
      var need = SnapshotFooter.Need(files: 0, bytes: 0)
      do throws(PlainRow.OtherForm) {
        guard try row.typeName() == "needs" else { return nil }
        let stamp = try row.text("archive")
        try row.number("files", &need.files, below: SnapshotLine.limit)
        try row.number("bytes", &need.bytes, below: .max)
        guard row.isComplete, LocalTime.isStamp(stamp) else { return nil }
        return (String(decoding: stamp, as: UTF8.self), need)
      } catch {
        return nil
      }
    }
  }

  /// Whether a line certainly does not belong to a file with several names; the rest of it is not examined.
  static func isWithoutLinks(_ line: [UInt8]) -> Bool {
    line.withUnsafeBufferPointer { bytes in
      var row = PlainRow(bytes)
      var kind = ArchiveEntry.Kind.file
      guard (try? row.kind("type", &kind)) != nil else { return false }
      // No string can contain this: inside of it, each quotation mark follows a backslash.
      return kind != .file || row.find(",\"links\":1,")
    }
  }

  /// The path of a row without escapes, and whether it is a folder; nil for any other line.
  static func plainPath(
    _ line: UnsafeBufferPointer<UInt8>
  ) -> (path: UnsafeBufferPointer<UInt8>, isFolder: Bool)? {
    var row = PlainRow(line)
    var kind = ArchiveEntry.Kind.file
    guard (try? row.kind("type", &kind)) != nil, let path = try? row.text("path") else { return nil }
    return (path, kind == .directory)
  }
}

/// A position in a line. Each value must follow the one before.
private struct PlainRow: SnapshotColumnVisitor {
  /// The line has another form.
  struct OtherForm: Error {}

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0
  /// The stamp of the archive.
  private(set) var archive = UnsafeBufferPointer<UInt8>(start: nil, count: 0)

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  /// Whether the object ends here, and the line with it.
  var isComplete: Bool { position + 1 == bytes.count && bytes[position] == UInt8(ascii: "}") }

  // MARK: Columns, inlined so that each comparison with a key has a known length

  @inline(__always)
  mutating func kind(_ key: StaticString, _ value: inout ArchiveEntry.Kind) throws(OtherForm) {
    try require(skip("{\"") && skip(key) && skip("\":\""))
    if skip("file\"") {
      value = .file
    } else if skip("directory\"") {
      value = .directory
    } else {
      try require(skip("symbolic_link\""))
      value = .symbolicLink
    }
  }

  /// The word of the first member, whose key is `type`.
  mutating func typeName() throws(OtherForm) -> String {
    try require(skip("{\"type\":"))
    return String(decoding: try text(), as: UTF8.self)
  }

  @inline(__always)
  mutating func path(_ key: StaticString, _ value: inout PathBytes) throws(OtherForm) {
    value = PathBytes(try text(key))
  }

  @inline(__always)
  mutating func path(_ key: StaticString, _ value: inout PathBytes?) throws(OtherForm) {
    if skip(key: key) { value = PathBytes(try text()) }
  }

  @inline(__always)
  mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ key: StaticString, _ value: inout Number, below limit: UInt64
  ) throws(OtherForm) {
    try require(skip(key: key))
    value = Number(truncatingIfNeeded: try number(below: limit))
  }

  @inline(__always)
  mutating func number(_ key: StaticString, _ value: inout UInt64?, below limit: UInt64) throws(OtherForm) {
    if skip(key: key) { value = try number(below: limit) }
  }

  /// A time not before 1970.
  @inline(__always)
  mutating func time(_ key: StaticString, _ value: inout FileStatus.Time) throws(OtherForm) {
    try require(skip(key: key) && skip("\""))
    let seconds = try number(below: .max)
    try require(skip("."))
    let start = position
    let fraction = try number(below: .max)
    try require(position - start == 9 && skip("\""))
    value = FileStatus.Time(seconds: Int64(seconds), nanoseconds: Int32(fraction))
  }

  @inline(__always)
  mutating func digest(_ key: StaticString, _ value: inout Digest?) throws(OtherForm) {
    guard skip(key: key) else { return }
    try require(skip("\""))
    let count = DigestAlgorithm.sha256.byteCount * 2
    guard bytes.count - position > count,
      let digest = Digest(.sha256, hex: UnsafeBufferPointer(rebasing: bytes[position..<(position + count)]))
    else { throw OtherForm() }
    position += count
    try require(skip("\""))
    value = digest
  }

  /// The value remains in the line, because most rows have the same one.
  @inline(__always)
  mutating func stamp(_ key: StaticString, _ value: inout String) throws(OtherForm) {
    archive = try text(key)
  }

  @inline(__always)
  mutating func flag(_ key: StaticString, _ value: inout Bool) throws(OtherForm) {
    guard skip(key: key) else { return }
    try require(skip("true"))
    value = true
  }

  // MARK: Values

  private func require(_ condition: Bool) throws(OtherForm) {
    if !condition { throw OtherForm() }
  }

  /// Skips a text; does not move if something else is there. Where the text is a literal, the comparison becomes a few instructions.
  @inline(__always)
  private mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard bytes.count - position >= count, let base = bytes.baseAddress,
      memcmp(base + position, text.utf8Start, count) == 0
    else { return false }
    position += count
    return true
  }

  /// Skips up to the end of a text that begins with a comma.
  mutating func find(_ text: StaticString) -> Bool {
    while let base = bytes.baseAddress,
      let comma = memchr(base + position, Int32(UInt8(ascii: ",")), bytes.count - position)
    {
      position = UnsafeRawPointer(comma) - UnsafeRawPointer(base)
      if skip(text) { return true }
      position += 1
    }
    return false
  }

  /// Skips a comma and a key with its colon; does not move if something else is there.
  @inline(__always)
  private mutating func skip(key: StaticString) -> Bool {
    let start = position
    if skip(",\""), skip(key), skip("\":") { return true }
    position = start
    return false
  }

  /// The text of a key that must be here.
  mutating func text(_ key: StaticString) throws(OtherForm) -> UnsafeBufferPointer<UInt8> {
    try require(skip(key: key))
    return try text()
  }

  /// The text between two quotation marks, without escapes and control bytes.
  private mutating func text() throws(OtherForm) -> UnsafeBufferPointer<UInt8> {
    try require(skip("\""))
    let start = position
    var end = start
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        position = end + 1
        return UnsafeBufferPointer(rebasing: bytes[start..<end])
      }
      if byte == UInt8(ascii: "\\") || byte < 0x20 { break }
      end += 1
    }
    throw OtherForm()
  }

  /// A number of up to 18 digits.
  private mutating func number(below limit: UInt64) throws(OtherForm) -> UInt64 {
    var end = position
    var value: UInt64 = 0
    let last = min(bytes.count, position + 19)
    while end < last {
      let digit = bytes[end] &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      value = value &* 10 &+ UInt64(digit)
      end += 1
    }
    guard (1...18).contains(end - position), value < limit else { throw OtherForm() }
    position = end
    return value
  }
}
