import BatchEngine

/// Reads a manifest of any format, recognized by its first significant line, in memory that does not depend on its size.
///
/// No input stops a reader: a row that is not valid is a ``ManifestItem/malformed(line:reason:)``, and a line that is not a row
/// a ``ManifestItem/text(line:reason:)``. Lines of coreutils are valid as in version 9.1, except that a NUL byte makes a line
/// malformed (coreutils would cut the name), and that a UTF-8 byte order mark before the first line is ignored.
///
/// A line has the shape of a row if it looks like a row of its format but is not valid. After a valid row, every line counts as
/// a row except empty lines, comments, headings and the armor of a signed file.
package struct ManifestReader: Sendable {
  package struct Options: Sendable {
    /// Whether lines end with NUL, as in `sha256sum -z` and `hashdeep -0`.
    package var zero: Bool
    /// The algorithm of digests without a tag; nil if the length decides.
    package var algorithm: DigestAlgorithm?

    package init(zero: Bool = false, algorithm: DigestAlgorithm? = nil) {
      self.zero = zero
      self.algorithm = algorithm
    }
  }

  /// The longest line in bytes; longer ones are malformed and not kept.
  package static let longestLine = 1 << 20

  private enum Grammar: Sendable {
    /// Only blank lines and comments so far.
    case undecided
    case checksums
    case hashdeep
    case mtree
    case json
  }

  private let options: Options
  private var splitter: LineSplitter
  private var line = [UInt8]()
  private var lineNumber = 0
  private var grammar = Grammar.undecided
  private var checksums: ChecksumLineParser
  private var hashdeep: HashdeepParser
  private var mtree = MtreeParser()
  private var armor = ManifestArmor()
  private var hasRows = false
  private var isTagged = false

  /// The format of the manifest, after the first row.
  package var format: ManifestFormat? {
    switch grammar {
    case .undecided: nil
    case .checksums: isTagged ? .bsd : .gnu
    case .hashdeep: .hashdeep
    case .mtree: .mtree
    case .json: .json
    }
  }

  package init(_ options: Options = Options()) {
    self.options = options
    splitter = LineSplitter(terminator: options.zero ? 0 : UInt8(ascii: "\n"), limit: Self.longestLine)
    checksums = ChecksumLineParser(algorithm: options.algorithm, zero: options.zero)
    hashdeep = HashdeepParser(zero: options.zero)
  }

  /// The next entry or malformed line, nil at the end of the manifest.
  ///
  /// - Parameter read: gives the next bytes as read(2) does: fills the buffer from its start and
  ///   returns how many bytes there are, 0 at the end. Called only when all bytes are used up.
  /// - Throws: only what `read` throws.
  package mutating func next(
    _ read: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) -> ManifestItem? {
    while true {
      line.removeAll(keepingCapacity: true)
      lineNumber += 1
      let number = lineNumber
      switch try splitter.append(to: &line, read) {
      case .end: return nil
      case .tooLong:
        return .malformed(line: number, reason: "a line of more than \(Self.longestLine) bytes")
      case .line: break
      }
      if number == 1 { dropByteOrderMark() }
      trimLineEnd()
      if armor.takes(line) { return .text(line: number, reason: "armor of a signed file") }
      decideGrammar()
      let isWhole = grammar == .mtree ? try joinContinuations(read) : true
      guard isWhole else {
        return .malformed(line: number, reason: "a line of more than \(Self.longestLine) bytes")
      }
      do throws(MalformedLine) {
        guard var entry = try parseLine() else { continue }
        entry.line = number
        if !hasRows { isTagged = Self.isTagged(line) }
        hasRows = true
        return .entry(entry)
      } catch {
        return isRow
          ? .malformed(line: number, reason: error.reason) : .text(line: number, reason: error.reason)
      }
    }
  }

  /// Whether a checksum row begins with its algorithm, which is shorter than a digest.
  private static func isTagged(_ line: [UInt8]) -> Bool {
    guard let blank = line.firstIndex(of: UInt8(ascii: " ")), blank + 1 < line.count else { return false }
    return line[blank + 1] == UInt8(ascii: "(")
  }

  private mutating func parseLine() throws(MalformedLine) -> ManifestEntry? {
    switch grammar {
    case .undecided, .checksums: try checksums.parse(line)
    case .hashdeep: try hashdeep.parse(line)
    case .mtree: try mtree.parse(line)
    case .json: try JSONManifest.parse(line)
    }
  }

  private mutating func decideGrammar() {
    guard grammar == .undecided, let first = line.first else { return }
    if line.starts(with: "#mtree".utf8) {
      grammar = .mtree
    } else if first == UInt8(ascii: "#") {
      return
    } else if line.starts(with: HashdeepManifest.signature) {
      grammar = .hashdeep
    } else if checksums.accepts(line) {
      // A name may look like the end of an object.
      grammar = .checksums
    } else if JSONManifest.recognizes(line) {
      grammar = .json
    } else if MtreeParser.recognizes(line) {
      grammar = .mtree
    } else if ChecksumLineParser.hasShapeOfRow(line) {
      grammar = .checksums
    }
  }

  /// Whether an invalid line still counts as a row.
  private var isRow: Bool {
    switch grammar {
    case .undecided: false
    case .checksums:
      ChecksumLineParser.hasShapeOfRow(line) || hasRows && !ChecksumLineParser.isText(line)
    case .hashdeep, .mtree, .json: true
    }
  }

  /// Removes one carriage return, as coreutils does; in hashdeep it may belong to a name.
  private mutating func trimLineEnd() {
    guard !options.zero, grammar != .hashdeep, line.last == UInt8(ascii: "\r") else { return }
    line.removeLast()
  }

  private mutating func dropByteOrderMark() {
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    if line.starts(with: mark) { line.removeFirst(mark.count) }
  }

  /// Appends the following lines while the line ends with an unescaped backslash; returns false if it becomes too long.
  private mutating func joinContinuations(
    _ read: (UnsafeMutableRawBufferPointer) throws(BatchError) -> Int
  ) throws(BatchError) -> Bool {
    let isComment = line.first { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") } == UInt8(ascii: "#")
    while !isComment, line.reversed().prefix(while: { $0 == UInt8(ascii: "\\") }).count % 2 == 1 {
      line.removeLast()
      switch try splitter.append(to: &line, read) {
      case .end: return true
      case .tooLong:
        lineNumber += 1
        return false
      case .line:
        lineNumber += 1
        trimLineEnd()
      }
    }
    return true
  }
}
