import BatchEngine

/// Reads the lines of `hashdeep` manifests; columns of unknown algorithms are ignored.
struct HashdeepParser: Sendable {
  let zero: Bool
  private var columns = [Column]()
  // Written on Windows, where every line ends with CR LF; elsewhere a CR belongs to the name.
  private var hasCarriageReturns = false

  private enum Column: Sendable {
    case size
    case digest(DigestAlgorithm)
    case unknown
  }

  init(zero: Bool) {
    self.zero = zero
  }

  mutating func parse(_ line: [UInt8]) throws(MalformedLine) -> ManifestEntry? {
    var text = line[...]
    // hashdeep -0 ends rows with NUL, but header lines and comments with newlines.
    while zero, isHeader(text), let end = text.firstIndex(of: UInt8(ascii: "\n")) {
      try parseHeader(text[..<end])
      text = text[(end + 1)...]
    }
    guard !isHeader(text) else {
      try parseHeader(text)
      return nil
    }
    if hasCarriageReturns, text.last == UInt8(ascii: "\r") { text = text.dropLast() }
    return text.isEmpty ? nil : try parseRow(text)
  }

  private func isHeader(_ text: ArraySlice<UInt8>) -> Bool {
    text.first == UInt8(ascii: "%") || text.first == UInt8(ascii: "#")
  }

  private mutating func parseHeader(_ line: ArraySlice<UInt8>) throws(MalformedLine) {
    guard line.first == UInt8(ascii: "%") else { return }
    guard !line.starts(with: HashdeepManifest.signature) else { return }
    hasCarriageReturns = line.last == UInt8(ascii: "\r")
    columns = []
    let names = line.drop { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: " ") }
      .split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard let last = names.last, last.elementsEqual("filename".utf8) || last.elementsEqual("filename\r".utf8)
    else { throw MalformedLine("a header whose last column is not filename") }
    columns = names.dropLast().map { name in
      if name.elementsEqual("size".utf8) { return .size }
      let algorithm = DigestAlgorithm.allCases.first { name.elementsEqual(($0.hashdeepColumn ?? "").utf8) }
      return algorithm.map { .digest($0) } ?? .unknown
    }
  }

  private func parseRow(_ line: ArraySlice<UInt8>) throws(MalformedLine) -> ManifestEntry {
    guard !columns.isEmpty else { throw MalformedLine("a row before the header with the columns") }
    guard !line.contains(0) else { throw MalformedLine("a NUL byte") }
    var entry = ManifestEntry(path: "", digests: [])
    var rest = line
    for column in columns {
      guard let comma = rest.firstIndex(of: UInt8(ascii: ",")) else {
        throw MalformedLine("fewer columns than the header names")
      }
      let field = rest[..<comma]
      rest = rest[(comma + 1)...]
      switch column {
      case .unknown: continue
      case .size:
        guard let size = DecimalDigits.value(of: field) else {
          throw MalformedLine("the size is not a number")
        }
        entry.size = size
      case .digest(let algorithm):
        guard let digest = Digest(algorithm, hex: field) else {
          throw MalformedLine("not \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.bsdTag)")
        }
        entry.digests.append(digest)
      }
    }
    guard !entry.digests.isEmpty else { throw MalformedLine("no column of a known algorithm") }
    guard !rest.isEmpty else { throw MalformedLine("no name") }
    entry.path = PathBytes(rest)
    return entry
  }
}
