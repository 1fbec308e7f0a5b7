import BatchEngine

/// Receives the columns of a row one after the other, to write them, to read them, or to list them.
///
/// A reader sets each value, others leave it.
protocol SnapshotColumnVisitor {
  /// The type of a literal that the visitor needs.
  associatedtype Key: ExpressibleByStringLiteral
  associatedtype Failure: Error

  mutating func kind(_ key: Key, _ value: inout ArchiveEntry.Kind) throws(Failure)
  mutating func path(_ key: Key, _ value: inout PathBytes) throws(Failure)
  mutating func path(_ key: Key, _ value: inout PathBytes?) throws(Failure)
  /// - Parameter limit: the exclusive upper bound; `UInt64.max` allows any 64-bit number.
  mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ key: Key, _ value: inout Number, below limit: UInt64
  ) throws(Failure)
  mutating func number(_ key: Key, _ value: inout UInt64?, below limit: UInt64) throws(Failure)
  mutating func time(_ key: Key, _ value: inout FileStatus.Time) throws(Failure)
  mutating func digest(_ key: Key, _ value: inout Digest?) throws(Failure)
  mutating func stamp(_ key: Key, _ value: inout String) throws(Failure)
  mutating func flag(_ key: Key, _ value: inout Bool) throws(Failure)
}

extension SnapshotEntry {
  /// Passes on the columns of a row, in the order in which they are written.
  ///
  /// Optional columns are written only if they have a value, and a flag only if it is true. This is the only list of the columns
  /// in code: docs/formats.md and docs/backup.md explain them.
  @inline(__always)
  mutating func visitColumns<Visitor: SnapshotColumnVisitor>(
    with visitor: inout Visitor
  ) throws(Visitor.Failure) {
    try visitor.kind("type", &kind)
    try visitor.path("path", &path)
    // Sizes and inodes come from a file system: some use all 64 bits for inodes, and a file with holes may have any size.
    try visitor.number("size", &size, below: .max)
    try visitor.time("mtime", &modified)
    try visitor.time("ctime", &statusChanged)
    try visitor.number("inode", &inode, below: .max)
    try visitor.number("links", &linkCount, below: SnapshotLine.limit)
    try visitor.number("mode", &mode, below: 0o10000)
    try visitor.number("uid", &owner, below: 1 << 32)
    try visitor.number("gid", &group, below: 1 << 32)
    try visitor.path("user", &userName)
    try visitor.path("group", &groupName)
    try visitor.path("target", &linkTarget)
    try visitor.number("link_group", &linkGroup, below: SnapshotLine.limit)
    try visitor.path("first_name", &firstName)
    try visitor.digest("sha256", &digest)
    try visitor.digest("attributes", &attributes)
    try visitor.stamp("archive", &archive)
    try visitor.path("member", &member)
    try visitor.path("base", &baseList)
    try visitor.flag("unsettled", &isUnsettled)
  }

  /// A row whose values are read next.
  static let blank = SnapshotEntry(kind: .file, path: PathBytes([]), archive: "")

  /// Whether the values of a row fit together.
  var isConsistent: Bool {
    !path.isEmpty && (kind == .file || (digest == nil && linkGroup == nil && !isReference))
      && (userName == nil) == (groupName == nil)
      && (isReference ? firstName == nil : member == nil && baseList == nil)
      && (digest != nil || !isReference || baseList != nil) && hasValidBases
      && member?.isEmpty != true
  }
}

// MARK: Writing

extension SnapshotEntry {
  /// The row as a line of JSON, without its newline.
  var line: [UInt8] {
    var line = [UInt8]()
    appendLine(to: &line)
    line.removeLast()
    return line
  }

  /// Appends the row as a line of JSON.
  func appendLine(to lines: inout [UInt8]) {
    var row = self
    var writer = SnapshotColumnWriter()
    // The line is appended directly to the others without another allocation, because a backup has many rows.
    swap(&writer.bytes, &lines)
    row.visitColumns(with: &writer)
    writer.bytes.append(literal: "}\n")
    swap(&writer.bytes, &lines)
  }
}

private struct SnapshotColumnWriter: SnapshotColumnVisitor {
  typealias Failure = Never

  var bytes: [UInt8] = []

  private mutating func begin(_ key: StaticString) {
    bytes.append(literal: ",\"")
    bytes.append(literal: key)
    bytes.append(literal: "\":")
  }

  mutating func kind(_ key: StaticString, _ value: inout ArchiveEntry.Kind) {
    bytes.append(literal: "{\"")
    bytes.append(literal: key)
    bytes.append(literal: "\":")
    JSONText.append(value.word, to: &bytes)
  }

  mutating func path(_ key: StaticString, _ value: inout PathBytes) {
    bytes.append(UInt8(ascii: ","))
    JSONText.append(bytes: value.bytes, key: key, to: &bytes)
  }

  mutating func path(_ key: StaticString, _ value: inout PathBytes?) {
    guard var path = value else { return }
    self.path(key, &path)
  }

  mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ key: StaticString, _ value: inout Number, below limit: UInt64
  ) {
    begin(key)
    JSONText.append(UInt64(value), to: &bytes)
  }

  mutating func number(_ key: StaticString, _ value: inout UInt64?, below limit: UInt64) {
    guard var number = value else { return }
    self.number(key, &number, below: limit)
  }

  mutating func time(_ key: StaticString, _ value: inout FileStatus.Time) {
    begin(key)
    bytes.append(UInt8(ascii: "\""))
    value.appendNumber(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func digest(_ key: StaticString, _ value: inout Digest?) {
    guard let value else { return }
    begin(key)
    bytes.append(UInt8(ascii: "\""))
    value.appendHex(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func stamp(_ key: StaticString, _ value: inout String) {
    begin(key)
    JSONText.append(value, to: &bytes)
  }

  mutating func flag(_ key: StaticString, _ value: inout Bool) {
    guard value else { return }
    begin(key)
    bytes.append(literal: "true")
  }
}

// MARK: Reading

extension SnapshotEntry {
  /// - Throws: `malformed` for anything but a row.
  init(_ line: SnapshotLine) throws(BatchError) {
    self = .blank
    var reader = SnapshotColumnReader(line: line)
    try visitColumns(with: &reader)
    guard isConsistent else { throw SnapshotLine.malformed }
  }
}

/// Reads columns in any order; ``SnapshotRowParser`` reads rows as they are written.
private struct SnapshotColumnReader: SnapshotColumnVisitor {
  typealias Failure = BatchError

  let line: SnapshotLine

  mutating func kind(_ key: String, _ value: inout ArchiveEntry.Kind) throws(BatchError) {
    guard let kind = line.text(key).flatMap(ArchiveEntry.Kind.init(word:)) else {
      throw SnapshotLine.malformed(key)
    }
    value = kind
  }

  mutating func path(_ key: String, _ value: inout PathBytes) throws(BatchError) {
    guard let path = try line.path(key) else { throw SnapshotLine.malformed(key) }
    value = path
  }

  mutating func path(_ key: String, _ value: inout PathBytes?) throws(BatchError) {
    value = try line.path(key)
  }

  mutating func number<Number: FixedWidthInteger & UnsignedInteger>(
    _ key: String, _ value: inout Number, below limit: UInt64
  ) throws(BatchError) {
    value = Number(truncatingIfNeeded: try line.number(key, below: limit))
  }

  mutating func number(_ key: String, _ value: inout UInt64?, below limit: UInt64) throws(BatchError) {
    if line.has(key) { value = try line.number(key, below: limit) }
  }

  mutating func time(_ key: String, _ value: inout FileStatus.Time) throws(BatchError) {
    guard let time = line.time(key) else { throw SnapshotLine.malformed(key) }
    value = time
  }

  mutating func digest(_ key: String, _ value: inout Digest?) throws(BatchError) {
    guard line.has(key) else { return }
    guard let digest = line.digest(key) else { throw SnapshotLine.malformed(key) }
    value = digest
  }

  mutating func stamp(_ key: String, _ value: inout String) throws(BatchError) {
    guard let stamp = line.text(key), LocalTime.seconds(ofStamp: stamp.utf8) != nil else {
      throw SnapshotLine.malformed(key)
    }
    value = stamp
  }

  mutating func flag(_ key: String, _ value: inout Bool) {
    value = line.isTrue(key)
  }
}
