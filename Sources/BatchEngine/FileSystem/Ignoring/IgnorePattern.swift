/// One pattern in the language of gitignore(5), matched by bytes, case-sensitively.
///
/// A pattern with a slash at its start or in its middle is matched against the path below the folder it belongs to; any other
/// against the name alone, at every depth. A pattern with a slash at the end matches only folders.
package struct IgnorePattern: Sendable {
  /// Whether a `!` precedes the pattern, which inverts its result.
  package let isNegated: Bool
  private let takesFoldersOnly: Bool
  private let matchesPath: Bool
  private let form: Form

  /// The ways to match, the cheap ones first: most patterns are a name, `*.ext` or `name*`.
  private enum Form: Sendable {
    case literal([UInt8])
    case suffix([UInt8])
    case prefix([UInt8])
    case glob(IgnorePatternGlob)
  }

  /// Reads a pattern literally: no comments, no trimming of spaces.
  ///
  /// - Parameter crossesFolders: whether `*` and `?` match slashes too, as in patterns of `tar --wildcards`.
  /// - Returns: nil for a pattern that can never match: empty, a bracket that is not closed, a backslash at the end. git
  ///   ignores these silently.
  package init?(_ text: some Collection<UInt8>, crossesFolders: Bool = false) {
    let slash = UInt8(ascii: "/")
    var glob = Array(text)[...]
    isNegated = glob.first == UInt8(ascii: "!")
    if isNegated { glob.removeFirst() }
    takesFoldersOnly = glob.last == slash
    if takesFoldersOnly { glob.removeLast() }
    matchesPath = glob.contains(slash)
    if glob.first == slash { glob.removeFirst() }
    guard !glob.isEmpty,
      let compiled = IgnorePatternGlob(glob, crossesFolders: crossesFolders)
    else {
      return nil
    }
    form = Self.form(of: compiled, onPath: matchesPath && !crossesFolders)
  }

  /// Reads one line of a pattern file, without its line feed.
  ///
  /// - Returns: nil for an empty line, a comment, or a pattern that can never match.
  package init?(line: ArraySlice<UInt8>) {
    guard line.first != UInt8(ascii: "#") else { return nil }
    self.init(Self.trimmed(line))
  }

  /// Whether the pattern matches this entry; ``isNegated`` is not considered.
  ///
  /// - Parameters:
  ///   - path: from the root of the walk to the entry, without a slash at either end.
  ///   - nameStart: where the last name of the path starts.
  ///   - base: where the part of the path starts that is relative to the pattern's folder.
  package func matches(path: Span<UInt8>, nameStart: Int, base: Int, isDirectory: Bool) -> Bool {
    if takesFoldersOnly, !isDirectory { return false }
    let start = matchesPath ? base : nameStart
    let length = path.count - start
    switch form {
    case .literal(let bytes):
      return length == bytes.count && Self.equal(bytes, path, from: start)
    case .suffix(let bytes):
      return length >= bytes.count && Self.equal(bytes, path, from: path.count - bytes.count)
    case .prefix(let bytes):
      return length >= bytes.count && Self.equal(bytes, path, from: start)
    case .glob(let glob):
      return glob.matches(path, from: start)
    }
  }

  private static func equal(_ bytes: [UInt8], _ path: Span<UInt8>, from start: Int) -> Bool {
    for index in bytes.indices where bytes[index] != path[start + index] { return false }
    return true
  }

  private static func form(of glob: IgnorePatternGlob, onPath: Bool) -> Form {
    func literal(_ steps: ArraySlice<IgnorePatternGlob.Step>) -> [UInt8]? {
      var bytes: [UInt8] = []
      for step in steps {
        guard case .byte(let byte) = step else { return nil }
        bytes.append(byte)
      }
      return bytes
    }
    if let bytes = literal(glob.steps[...]) { return .literal(bytes) }
    // In a path a star must not match slashes, which these two forms do not check.
    guard !onPath else { return .glob(glob) }
    if case .star = glob.steps[0], let bytes = literal(glob.steps.dropFirst()) { return .suffix(bytes) }
    if case .star = glob.steps[glob.steps.count - 1], let bytes = literal(glob.steps.dropLast()) {
      return .prefix(bytes)
    }
    return .glob(glob)
  }

  /// The line without trailing spaces, except those after a backslash.
  static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var end = line.startIndex
    var index = line.startIndex
    while index < line.endIndex {
      switch line[index] {
      case UInt8(ascii: "\\"):
        index = min(index + 2, line.endIndex)
        end = index
      case UInt8(ascii: " "):
        index += 1
      default:
        index += 1
        end = index
      }
    }
    return line[..<end]
  }
}
