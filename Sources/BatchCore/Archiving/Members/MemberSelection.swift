import BatchEngine
import func Glibc.memcmp

/// Which members of an archive are selected, and where they go.
///
/// A text that is exactly a name selects that name, and what is in a folder of that name; only if there is no such name, it is a
/// glob. So the names are searched before members are selected: ``NameSearch``.
package struct MemberSelection: Sendable {
  private var choices: [MemberChoice]
  private let strip: Int
  private let filter: PathFilter?
  /// The selected names, instead of patterns.
  let names: MemberNames?

  /// All members, under their own names.
  package static let all = MemberSelection()

  init(names: MemberNames, strip: Int = 0) {
    (choices, filter) = ([], nil)
    self.strip = strip
    self.names = names
  }

  /// The members with these names, which go to the same places.
  func limited(to names: MemberNames) -> MemberSelection { MemberSelection(names: names, strip: strip) }

  /// - Parameters:
  ///   - globs: names, or patterns of gitignore(5) whose wildcards match slashes too, as those of `tar --wildcards`; a folder
  ///     that matches selects its contents too. None selects all members.
  ///   - areNames: whether they are names only.
  ///   - strip: how many leading names of each path are dropped.
  ///   - filter: which of these members are excluded; an excluded folder excludes its contents too.
  package init(
    globs: [PathBytes] = [], areNames: Bool = false, strip: Int = 0, filter: PathFilter? = nil
  ) {
    choices = globs.map { MemberChoice($0, isName: areNames) }
    self.strip = strip
    self.filter = filter
    names = nil
  }

  /// Whether a text may be a name or a glob, so that the names must be searched.
  var isAmbiguous: Bool { choices.contains { $0.reading == .either } }

  /// The selection after all names were searched.
  func decided(by search: NameSearch) -> MemberSelection {
    var decided = self
    for index in choices.indices where choices[index].reading == .either {
      decided.choices[index].reading = search.found.contains(index) ? .name : .glob
    }
    return decided
  }

  /// Searches the names of members for those that texts of a selection are exactly.
  struct NameSearch {
    private let choices: [MemberChoice]
    private var rest: [Int]
    fileprivate private(set) var found: Set<Int> = []

    init(_ selection: MemberSelection) {
      choices = selection.choices
      rest = choices.indices.filter { selection.choices[$0].reading == .either }
    }

    /// Whether all are found.
    var isComplete: Bool { rest.isEmpty }

    mutating func look(at path: PathBytes, isDirectory: Bool) {
      guard !rest.isEmpty, let path = try? RelativePath(path) else { return }
      for index in rest where choices[index].isName(of: path, isDirectory: isDirectory) {
        found.insert(index)
      }
      if !found.isEmpty { rest.removeAll { found.contains($0) } }
    }
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

  var count: Int { names == nil ? choices.count : 1 }

  /// How a text selects a member.
  enum Match {
    case name, glob
  }

  /// The numbers of the texts that select a path or one of its folders, and how.
  func matches(_ path: RelativePath, isDirectory: Bool) -> [(number: Int, match: Match)] {
    if let names { return names.contains(path.bytes) ? [(0, .name)] : [] }
    return choices.indices.compactMap { index in
      let choice = choices[index]
      if choice.reading != .glob, choice.isName(of: path, isDirectory: isDirectory) { return (index, .name) }
      guard choice.reading != .name, let pattern = choice.pattern else { return nil }
      let isMatched = Self.holds(for: path, isDirectory: isDirectory) { path, start, isFolder in
        pattern.matches(path: path, nameStart: start, base: 0, isDirectory: isFolder)
      }
      return isMatched ? (index, .glob) : nil
    }
  }

  /// Whether a text may still be a name or a glob.
  func isAmbiguous(_ number: Int) -> Bool { names == nil && choices[number].reading == .either }

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

/// A text that selects members.
private struct MemberChoice: Sendable {
  enum Reading {
    case name, glob
    /// A name if there is one, otherwise a glob.
    case either
  }

  private static let slash = UInt8(ascii: "/")
  private static let wildcards = Array(#"*?[\"#.utf8)

  private let name: [UInt8]
  /// Whether it ends in a slash, as folders are listed.
  private let isFolder: Bool
  /// Nil for a text that cannot be a glob, or that means the same as one.
  let pattern: IgnorePattern?
  var reading: Reading

  init(_ text: PathBytes, isName: Bool) {
    let bytes = text.bytes
    name = (try? RelativePath(text).bytes) ?? bytes
    isFolder = bytes.last == Self.slash
    let isWhole = name.isEmpty && !bytes.isEmpty
    let hasFolder = bytes.dropLast().contains(Self.slash)
    let isPlain = hasFolder && !bytes.contains { Self.wildcards.contains($0) }
    let glob = isWhole ? [UInt8(ascii: "*")] : Self.anchored(bytes)
    pattern =
      (isName || isPlain) && !isWhole
      ? nil : IgnorePattern(glob, crossesFolders: true).flatMap { $0.isNegated ? nil : $0 }
    reading = pattern == nil ? .name : isWhole ? .glob : .either
  }

  /// The text without a leading `./`: archives may list paths like that, but member paths never begin with it.
  private static func anchored(_ glob: [UInt8]) -> [UInt8] {
    guard glob.starts(with: [UInt8(ascii: "."), slash]) else { return glob }
    var rest = glob.dropFirst()
    while rest.starts(with: [slash, UInt8(ascii: "."), slash]) { rest = rest.dropFirst(2) }
    return Array(rest)
  }

  /// Whether it is the name of a member, or of one of its folders.
  func isName(of path: RelativePath, isDirectory: Bool) -> Bool {
    let count = name.count
    guard count > 0, path.bytes.count >= count, path.bytes.starts(with: name) else { return false }
    return path.bytes.count == count ? isDirectory || !isFolder : path.bytes[count] == Self.slash
  }
}

/// The metadata of a file that is not as a header of an archive says, since it refers to the content of an earlier file.
struct MemberMetadata: Sendable {
  let mode: UInt32
  let owner: UInt32
  let group: UInt32
  let ownerName: [UInt8]
  let groupName: [UInt8]
  let modified: FileStatus.Time
  /// Whether it has the attributes of the header, or none.
  let hasAttributes: Bool
}

/// Names of members and the expected SHA-256 of their contents. Only 128-bit hashes of names are kept, with keys that are
/// random for each process.
struct MemberNames: Sendable {
  /// The offset of each name's digest; negative if it has none.
  private var places: [UInt128: Int32] = [:]
  private var digests: [UInt8] = []
  /// The places of members that get another name.
  private var renamed: [UInt128: RelativePath] = [:]
  /// The metadata of members that do not get those of their headers.
  private var metadata: [UInt128: MemberMetadata] = [:]
  /// Folders that were not selected, but contain selected members.
  private var foldersOnWay: Set<UInt128> = []
  /// The first and the last name in the order of their bytes. A drill searches the whole index for each portion of neighbours,
  /// and comparing takes less time than hashing.
  private var (first, last): ([UInt8], [UInt8]) = ([], [])

  var count: Int { places.count }

  /// - Parameters:
  ///   - digest: the digest of its content; nil if it is not compared.
  ///   - place: its place, if that is not its own name.
  ///   - metadata: nil for those of the header.
  /// - Returns: false, and changes nothing, if the name has another place already.
  /// - Throws: `malformed` when it has another place, and neither place has metadata of its own.
  @discardableResult
  mutating func insert(
    _ name: [UInt8], _ digest: Digest? = nil, as place: RelativePath? = nil, _ metadata: MemberMetadata? = nil
  ) throws(BatchError) -> Bool {
    let hash = Self.hash(of: name)
    let place = place?.bytes == name ? nil : place
    if places[hash] != nil, renamed[hash]?.bytes != place?.bytes {
      guard metadata == nil, self.metadata[hash] == nil else { return false }
      throw BatchError(
        .malformed, "the manifest has one member of the archive for two files", path: PathBytes(name))
    }
    extend(to: name)
    if let place { renamed[hash] = place }
    if let metadata { self.metadata[hash] = metadata }
    guard let digest, places[hash] ?? -1 < 0,
      let place = Int32(exactly: digests.count / digest.algorithm.byteCount)
    else {
      if places[hash] == nil { places[hash] = -1 }
      return true
    }
    places[hash] = place
    digests += digest.bytes
    return true
  }

  /// Gives an entry the metadata of its name, if it has some.
  func describe(_ entry: inout ArchiveEntry, named name: [UInt8]) {
    guard !metadata.isEmpty, let found = metadata[Self.hash(of: name)] else { return }
    (entry.mode, entry.hasMode) = (found.mode, true)
    (entry.owner, entry.group) = (found.owner, found.group)
    (entry.ownerName, entry.groupName) = (found.ownerName, found.groupName)
    (entry.modified, entry.hasTime) = (found.modified, true)
    if !found.hasAttributes { entry.attributes = [] }
  }

  /// Adds a folder that was not selected, but contains a selected member.
  mutating func insert(folderOnWay name: [UInt8]) {
    let hash = Self.hash(of: name)
    guard places[hash] == nil else { return }
    extend(to: name)
    places[hash] = -1
    foldersOnWay.insert(hash)
  }

  var hasFoldersOnWay: Bool { !foldersOnWay.isEmpty }

  func isOnWay(_ name: [UInt8]) -> Bool {
    hasFoldersOnWay && foldersOnWay.contains(Self.hash(of: name))
  }

  /// Nil for a member that keeps its own name.
  func place(of name: [UInt8]) -> RelativePath? { renamed.isEmpty ? nil : renamed[Self.hash(of: name)] }

  func contains(_ name: [UInt8]) -> Bool {
    !Self.precedes(name, first) && !Self.precedes(last, name) && places[Self.hash(of: name)] != nil
  }

  private mutating func extend(to name: [UInt8]) {
    if places.isEmpty || Self.precedes(name, first) { first = name }
    if places.isEmpty || Self.precedes(last, name) { last = name }
  }

  private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.withUnsafeBytes { left in
      right.withUnsafeBytes { right in
        guard let start = left.baseAddress, let other = right.baseAddress else {
          return left.count < right.count
        }
        let order = memcmp(start, other, min(left.count, right.count))
        return order < 0 || order == 0 && left.count < right.count
      }
    }
  }

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

  /// The recorded digest of a name; nil if it has none.
  func digest(of name: [UInt8]) -> Digest? {
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
