import BatchEngine
import func Glibc.memchr

/// Splits the pieces of a backup manifest into lines, and parses those whose paths match.
struct ManifestRows {
  private static let newline = Int32(UInt8(ascii: "\n"))

  /// The beginning of an incomplete line.
  private var rest: [UInt8] = []

  /// Drops the rest of another manifest.
  mutating func restart() { rest.removeAll(keepingCapacity: true) }

  /// Passes on the lines that end in a piece, without their newlines.
  ///
  /// - Throws: `malformed` for an invalid line; the error of `use`.
  mutating func take(
    _ piece: UnsafeRawBufferPointer, _ use: (UnsafeBufferPointer<UInt8>) throws(BatchError) -> Void
  ) throws(BatchError) {
    let bytes = piece.assumingMemoryBound(to: UInt8.self)
    var start = 0
    while start < bytes.count, let base = bytes.baseAddress {
      guard let end = memchr(base + start, Self.newline, bytes.count - start) else { break }
      let stop = UnsafeRawPointer(end) - UnsafeRawPointer(base)
      let line = UnsafeBufferPointer(rebasing: bytes[start..<stop])
      if rest.isEmpty {
        try use(line)
      } else {
        rest += line
        let whole = rest
        try withBytes(of: whole) { (raw) throws(BatchError) in
          try use(raw.assumingMemoryBound(to: UInt8.self))
        }
        rest.removeAll(keepingCapacity: true)
      }
      start = stop + 1
    }
    rest += bytes[start...]
    guard rest.count < SnapshotReader.longestLine else { throw SnapshotLine.malformed }
  }

  /// The row of a line whose path matches; nil for any other line.
  ///
  /// - Throws: `malformed` for a row that is not valid.
  static func entry(
    _ line: UnsafeBufferPointer<UInt8>, of search: PathSearch
  ) throws(BatchError) -> SnapshotEntry? {
    if let (path, isFolder) = SnapshotRowParser.plainPath(line) {
      guard search.matches(path, isFolder: isFolder) else { return nil }
      return try SnapshotEntry(SnapshotLine(Array(line)))
    }
    let members = try SnapshotLine(Array(line))
    guard members.text("type").flatMap(ArchiveEntry.Kind.init(word:)) != nil else { return nil }
    let entry = try SnapshotEntry(members)
    let fits = entry.path.bytes.withUnsafeBufferPointer {
      search.matches($0, isFolder: entry.kind == .directory)
    }
    return fits ? entry : nil
  }
}
