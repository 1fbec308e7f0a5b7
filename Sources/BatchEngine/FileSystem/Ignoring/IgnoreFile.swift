/// A file of patterns: `.gitignore`, or a file that a rule of a ``PathFilter`` names.
enum IgnoreFile {
  /// A larger file is refused: it is a device or a mistake.
  private static let longest = 16 << 20

  /// The patterns of a file's bytes, in order; lines that can never match are left out.
  ///
  /// A byte order mark at the start and a carriage return at the end of a line are ignored, as in git.
  package static func patterns(in bytes: [UInt8]) -> [IgnorePattern] { rules(in: bytes).map(\.pattern) }

  /// The patterns of an ignore file, with the text of each.
  private static func rules(in bytes: [UInt8]) -> [(pattern: IgnorePattern, text: ArraySlice<UInt8>)] {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
    return text.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
      return IgnorePattern(line: line).map { ($0, IgnorePattern.trimmed(line)) }
    }
  }

  /// Reads a file of patterns; pipes are read to their end.
  package static func load(
    _ path: PathBytes
  ) throws(BatchError) -> [(pattern: IgnorePattern, text: ArraySlice<UInt8>)] {
    rules(in: try SmallFile.readNamed(path, limit: longest))
  }
}
