import BatchEngine

/// Which members of an archive are selected, and where they go.
package struct MemberSelection: Sendable {
  private let globs: [IgnorePattern]
  private let strip: Int
  private let filter: PathFilter?
  /// The selected names, instead of patterns.
  let names: MemberNames?

  /// All members, under their own names.
  package static let all = MemberSelection()

  private init() { (globs, strip, filter, names) = ([], 0, nil, nil) }

  init(names: MemberNames, strip: Int = 0) {
    (globs, filter) = ([], nil)
    self.strip = strip
    self.names = names
  }

  /// The members with these names, which go to the same places.
  func limited(to names: MemberNames) -> MemberSelection { MemberSelection(names: names, strip: strip) }

  /// - Parameters:
  ///   - globs: patterns of gitignore(5) whose wildcards match slashes too, as those of `tar --wildcards`; a folder that
  ///     matches selects its contents too. No pattern selects all members.
  ///   - strip: how many leading names of each path are dropped.
  ///   - filter: which of these members are excluded; an excluded folder excludes its contents too.
  /// - Throws: `invalid` for a pattern that can never match.
  package init(
    globs: [PathBytes] = [], strip: Int = 0, filter: PathFilter? = nil
  ) throws(BatchError) {
    self.strip = strip
    self.filter = filter
    names = nil
    var compiled = [IgnorePattern]()
    for glob in globs {
      // A pattern may end in a slash, as folders are listed.
      guard let pattern = IgnorePattern(Self.anchored(glob.bytes), crossesFolders: true), !pattern.isNegated
      else {
        throw BatchError(.invalid, "the pattern can never match", path: glob)
      }
      compiled.append(pattern)
    }
    self.globs = compiled
  }

  /// The pattern without a leading `./`: archives may list paths like that, but member paths never begin with it.
  private static func anchored(_ glob: [UInt8]) -> [UInt8] {
    let (dot, slash) = (UInt8(ascii: "."), UInt8(ascii: "/"))
    guard glob.first == dot, glob.count == 1 || glob[1] == slash else { return glob }
    var rest = glob.dropFirst()
    while rest.starts(with: [slash, dot, slash]) { rest = rest.dropFirst(2) }
    // The folder itself selects all its contents.
    return rest.allSatisfy { $0 == slash } ? [UInt8(ascii: "*")] : Array(rest)
  }

  /// Whether no pattern and no filter chooses among the members.
  var takesEverything: Bool { count == 0 && filter == nil }

  /// Whether the filter excludes a path or one of its folders.
  func excludes(_ path: RelativePath, isDirectory: Bool) -> Bool {
    guard let filter else { return false }
    return Self.holds(for: path, isDirectory: isDirectory) { path, start, isFolder in
      path.count > start
        && filter.decision(relativePath: path, nameStart: start, isDirectory: isFolder) == .skip
    }
  }

  var count: Int { names == nil ? globs.count : 1 }

  /// The numbers of the patterns that match a path or one of its folders.
  func matches(_ path: RelativePath, isDirectory: Bool) -> [Int] {
    if let names { return names.contains(path.bytes) ? [0] : [] }
    return globs.indices.filter { index in
      Self.holds(for: path, isDirectory: isDirectory) { path, start, isFolder in
        globs[index].matches(path: path, nameStart: start, base: 0, isDirectory: isFolder)
      }
    }
  }

  /// Whether a condition holds for a path or one of its folders.
  ///
  /// - Parameter condition: called with a path, the start of its last name, and whether it is a folder.
  private static func holds(
    for path: RelativePath, isDirectory: Bool, _ condition: (borrowing Span<UInt8>, Int, Bool) -> Bool
  ) -> Bool {
    let span = path.bytes.span
    var start = 0
    for end in 0...span.count where end == span.count || span[end] == UInt8(ascii: "/") {
      if condition(span.extracting(0..<end), start, end < span.count || isDirectory) { return true }
      start = end + 1
    }
    return false
  }

  /// The place of a selected member; nil if its path is empty after stripping.
  func place(of path: RelativePath) -> RelativePath? {
    (names?.place(of: path.bytes) ?? path).dropping(strip)
  }
}

/// Names of members and the expected SHA-256 of their contents. Only 128-bit hashes of names are kept, with keys that are
/// random for each process.
struct MemberNames: Sendable {
  /// The offset of each name's digest; negative if it has none.
  private var places: [UInt128: Int32] = [:]
  private var digests: [UInt8] = []
  /// The places of members that get another name.
  private var renamed: [UInt128: RelativePath] = [:]

  var count: Int { places.count }

  /// - Parameters:
  ///   - digest: the digest of its content; nil if it is not compared.
  ///   - place: its place, if that is not its own name.
  /// - Throws: `malformed` when the same name has another place too.
  mutating func insert(
    _ name: [UInt8], _ digest: Digest? = nil, as place: RelativePath? = nil
  ) throws(BatchError) {
    let hash = Self.hash(of: name)
    let place = place?.bytes == name ? nil : place
    if places[hash] != nil, renamed[hash]?.bytes != place?.bytes {
      throw BatchError(
        .malformed, "the manifest has one member of the archive for two files", path: PathBytes(name))
    }
    if let place { renamed[hash] = place }
    guard let digest, places[hash] ?? -1 < 0,
      let place = Int32(exactly: digests.count / digest.algorithm.byteCount)
    else {
      if places[hash] == nil { places[hash] = -1 }
      return
    }
    places[hash] = place
    digests += digest.bytes
  }

  /// Nil for a member that keeps its own name.
  func place(of name: [UInt8]) -> RelativePath? { renamed.isEmpty ? nil : renamed[Self.hash(of: name)] }

  func contains(_ name: [UInt8]) -> Bool { places[Self.hash(of: name)] != nil }

  /// The expected digest of a member's content; nil if it is not compared.
  ///
  /// - Throws: `malformed` if a file is expected but the member is something else.
  func digest(for entry: ArchiveEntry) throws(BatchError) -> Digest? {
    guard let path = try? RelativePath(entry.path), let digest = digest(of: path.bytes) else { return nil }
    switch entry.kind {
    case .file: return digest
    case .hardLink where entry.size > 0: return digest
    case .hardLink:
      // The content of the link's first name is compared.
      if let target = entry.linkTarget.flatMap({ try? RelativePath($0) }),
        self.digest(of: target.bytes) == digest
      {
        return nil
      }
    case .directory, .symbolicLink, .fifo, .characterDevice, .blockDevice: break
    }
    throw BatchError(
      .malformed, "not restored: the manifest has a file with this name, but the archive does not",
      path: entry.path)
  }

  private func digest(of name: [UInt8]) -> Digest? {
    guard !digests.isEmpty, let place = places[Self.hash(of: name)], place >= 0 else { return nil }
    let size = DigestAlgorithm.sha256.byteCount
    let start = Int(place) * size
    return Digest(.sha256, bytes: digests[start..<(start + size)])
  }

  private static func hash(of name: [UInt8]) -> UInt128 {
    var (first, second) = (Hasher(), Hasher())
    first.combine(name)
    second.combine(1)
    second.combine(name)
    return UInt128(UInt64(bitPattern: Int64(first.finalize()))) << 64
      | UInt128(UInt64(bitPattern: Int64(second.finalize())))
  }
}
