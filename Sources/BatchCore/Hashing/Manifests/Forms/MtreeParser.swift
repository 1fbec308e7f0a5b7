import BatchEngine

/// Reads logical lines of mtree(5): relative entries below the folders around them, whole paths,
/// and the defaults of `/set` and `/unset`. Only regular files with a digest known here are entries.
struct MtreeParser: Sendable {
  private var defaults = Attributes()
  /// The folder of relative entries, and its length before each open folder.
  private var folder = [UInt8]()
  private var outerLengths = [Int]()
  /// How many folders are open below one whose path was too long to keep.
  private var lostDepth = 0
  /// Whether any file had a digest.
  private var hasRows = false

  private static let longestFolder = 1 << 20

  private struct Attributes: Sendable {
    var isFile = true
    var isFolder = false
    var size: UInt64?
    var modified: FileStatus.Time?
    var digests = [Digest]()
    var hasUnsupportedDigest = false
    /// Whether the entry may lack a digest, because its keywords reduce the comparison.
    var mayLackDigest = false
  }

  mutating func parse(_ line: [UInt8]) throws(MalformedLine) -> ManifestEntry? {
    guard !line.contains(0) else { throw MalformedLine("a NUL byte") }
    var words = line[...]
    guard let first = Self.nextWord(of: &words), first.first != UInt8(ascii: "#") else { return nil }
    if MtreeName.isCommand(first) {
      // `/set`, or `/unset` which only clears.
      try change(isSetting: first.count == 4, words)
      return nil
    }
    if first.elementsEqual("..".utf8) {
      try leaveFolder()
      return nil
    }
    return try parseEntry(named: first, words)
  }

  private mutating func parseEntry(
    named word: ArraySlice<UInt8>, _ keywords: ArraySlice<UInt8>
  ) throws(MalformedLine) -> ManifestEntry? {
    let isWholePath = word.contains(UInt8(ascii: "/"))
    var attributes = defaults
    let fault = Self.apply(keywords, to: &attributes)
    // Even if the line of a folder has another error, the folder must be opened for the entries below it.
    if attributes.isFolder, !isWholePath { try enterFolder(named: word) }
    if let fault { throw fault }
    guard attributes.isFile else { return nil }
    guard !attributes.digests.isEmpty else {
      if attributes.hasUnsupportedDigest { throw MalformedLine("no digest of a supported algorithm") }
      if hasRows, !attributes.mayLackDigest {
        throw MalformedLine("no digest, where other files have one")
      }
      return nil
    }
    hasRows = true

    var name = try MtreeName.decode(word)
    if isWholePath {
      if name.starts(with: "./".utf8), name.count > 2 { name.removeFirst(2) }
    } else {
      guard lostDepth == 0 else { throw MalformedLine("an entry below a folder that is malformed") }
      name = folder + name
    }
    guard !name.contains(0) else { throw MalformedLine("a NUL byte in the name") }
    // This form has no name for standard input.
    if name == [UInt8(ascii: "-")] { name = Array("./-".utf8) }
    return ManifestEntry(
      path: PathBytes(name), digests: attributes.digests, size: attributes.size,
      modified: attributes.modified)
  }

  // MARK: - Folders

  private mutating func enterFolder(named word: ArraySlice<UInt8>) throws(MalformedLine) {
    guard lostDepth == 0 else {
      lostDepth += 1
      throw MalformedLine("a folder below a folder that is malformed")
    }
    let outer = folder.count
    do throws(MalformedLine) {
      let name = try MtreeName.decode(word)
      guard folder.count + name.count < Self.longestFolder else {
        throw MalformedLine("folders nested too deep")
      }
      if name != [UInt8(ascii: ".")] { folder += name + [UInt8(ascii: "/")] }
      outerLengths.append(outer)
    } catch {
      lostDepth = 1
      throw error
    }
  }

  private mutating func leaveFolder() throws(MalformedLine) {
    if lostDepth > 0 {
      lostDepth -= 1
      return
    }
    guard let outer = outerLengths.popLast() else { throw MalformedLine(".. without a folder to leave") }
    folder.removeSubrange(outer...)
  }

  // MARK: - Keywords

  private mutating func change(isSetting: Bool, _ words: ArraySlice<UInt8>) throws(MalformedLine) {
    if isSetting {
      if let fault = Self.apply(words, to: &defaults) { throw fault }
      return
    }
    var words = words
    while let keyword = Self.nextWord(of: &words) {
      if keyword.elementsEqual("all".utf8) {
        defaults = Attributes()
      } else if keyword.elementsEqual("type".utf8) {
        (defaults.isFile, defaults.isFolder) = (true, false)
      } else if keyword.elementsEqual("size".utf8) {
        defaults.size = nil
      } else if keyword.elementsEqual("time".utf8) {
        defaults.modified = nil
      } else if let algorithm = DigestAlgorithm(mtreeKeyword: keyword) {
        defaults.digests.removeAll { $0.algorithm == algorithm }
      }
    }
  }

  /// Applies all known keywords; returns the last unknown one.
  private static func apply(_ words: ArraySlice<UInt8>, to attributes: inout Attributes) -> MalformedLine? {
    var fault: MalformedLine?
    var words = words
    while let word = nextWord(of: &words) {
      guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else {
        if flags.contains(where: { word.elementsEqual($0.utf8) }) {
          attributes.mayLackDigest = true
        } else {
          fault = MalformedLine("a keyword without a value")
        }
        continue
      }
      let keyword = word[..<equals]
      let value = word[(equals + 1)...]
      if keyword.elementsEqual("type".utf8) {
        attributes.isFile = value.elementsEqual("file".utf8)
        attributes.isFolder = value.elementsEqual("dir".utf8)
        if !types.contains(where: { value.elementsEqual($0.utf8) }) {
          fault = MalformedLine("an unknown type")
        }
      } else if keyword.elementsEqual("size".utf8) {
        attributes.size = DecimalDigits.value(of: value)
        if attributes.size == nil { fault = MalformedLine("the size is not a number") }
      } else if keyword.elementsEqual("time".utf8) {
        attributes.modified = FileStatus.Time(fields: value)
        if attributes.modified == nil { fault = MalformedLine("the time is not seconds.nanoseconds") }
      } else if let algorithm = DigestAlgorithm(mtreeKeyword: keyword) {
        attributes.digests.removeAll { $0.algorithm == algorithm }
        if let digest = Digest(algorithm, hex: value) {
          attributes.digests.append(digest)
        } else {
          fault = MalformedLine("not \(algorithm.byteCount * 2) hexadecimal digits of \(algorithm.bsdTag)")
        }
      } else if keyword.reversed().starts(with: "digest".utf8.reversed())
        || otherDigests.contains(where: { keyword.elementsEqual($0.utf8) })
        || value.count >= 32 && value.allSatisfy({ Hexadecimal.value(of: $0) != nil })
      {
        attributes.hasUnsupportedDigest = true
      }
    }
    return fault
  }

  private static let types = ["file", "dir", "link", "block", "char", "fifo", "socket"]
  /// Keywords that have no value.
  private static let flags = ["ignore", "nochange", "optional"]
  /// Keywords of unsupported algorithms that do not end in `digest`.
  private static let otherDigests = ["cksum", "rmd160"]

  private static func nextWord(of text: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    text = text.drop(while: isBlank)
    let word = text.prefix { !isBlank($0) }
    text = text[word.endIndex...]
    return word.isEmpty ? nil : word
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }

  /// Whether a line of an unknown manifest can only be one of mtree.
  static func recognizes(_ line: [UInt8]) -> Bool {
    var words = line[...]
    guard let first = nextWord(of: &words) else { return false }
    if MtreeName.isCommand(first) { return true }
    while let word = nextWord(of: &words) {
      if word.starts(with: "type=".utf8) { return true }
      guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else { continue }
      if equals > word.startIndex, DigestAlgorithm(mtreeKeyword: word[..<equals]) != nil { return true }
    }
    return false
  }
}
