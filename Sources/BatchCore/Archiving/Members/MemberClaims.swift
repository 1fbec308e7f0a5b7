import BatchEngine

/// Records the names of the members of an archive, in archive order.
///
/// A name takes about 16 bytes: only a 64-bit hash of it is kept, with a key that is random for each process. The probability
/// that two of a million names have the same hash is 3 in 100 million.
struct MemberClaims {
  /// Which members a member must wait for.
  enum Wait: Sendable {
    /// None: no earlier member is related to its name.
    case nothing
    /// All members before it, because one of them has the name of its parent folder.
    case afterAll
    /// All members before it, because one of them has its name and is replaced.
    case replaces
    /// All members before it, because one of them is a folder of its name. What has the name now may have existed before the run.
    case replacesFolder
  }

  private static let slash = UInt8(ascii: "/")

  /// Places of files, FIFOs and devices, which are created in archive order.
  private var files: Set<Int> = []
  /// Places of links, which are created at the end.
  private var links: Set<Int> = []
  /// Places of folders, including parents that are not members.
  private var folders: Set<Int> = []
  /// Places of files that later became folders.
  private var contested: Set<Int> = []
  /// The folder of the previous member, whose parents are recorded.
  private var lastParent: ArraySlice<UInt8>?
  /// The hasher after the names of that folder.
  private var parentHasher = Hasher()
  /// How many folders there are, including those that are not members.
  private(set) var folderCount = 0

  /// Claims a place for the next member.
  ///
  /// - Throws: `invalid` when an earlier member that is not a folder has the name of a parent folder.
  mutating func claim(_ place: RelativePath, _ kind: ArchiveEntry.Kind, path: PathBytes) throws(BatchError)
    -> Wait
  {
    let isBelowContested = try claimFolders(above: place, path: path)
    let hash = Self.hash(of: place.bytes[place.nameStart...], in: parentHasher)
    let others: Wait = isBelowContested ? .afterAll : .nothing
    switch kind {
    case .directory:
      guard !place.bytes.isEmpty else { return .nothing }
      let wasFile = files.remove(hash) != nil
      if wasFile { contested.insert(hash) }
      let wasLink = links.remove(hash) != nil
      addFolder(hash)
      return wasFile || wasLink ? .replaces : others
    case .symbolicLink, .hardLink:
      // If a folder and a link have the same name, the folder stays and the link is refused.
      guard !folders.contains(hash) || contested.contains(hash) || files.contains(hash) else { return others }
      let wasFile = files.remove(hash) != nil
      return !links.insert(hash).inserted || wasFile ? .replaces : others
    case .file, .fifo, .characterDevice, .blockDevice:
      let wasLink = links.remove(hash) != nil
      let wasFolder = folders.contains(hash)
      // Members in that folder are refused from now on.
      if wasFolder { lastParent = nil }
      if !files.insert(hash).inserted || wasLink { return .replaces }
      return wasFolder ? .replacesFolder : others
    }
  }

  /// - Returns: whether one of them was a file before.
  private mutating func claimFolders(above place: RelativePath, path: PathBytes) throws(BatchError) -> Bool {
    let parent = place.parent
    if contested.isEmpty, parent == lastParent { return false }
    // Each name is added to the hash of the names before it, so all parents are hashed in one pass.
    // The folders above a folder in the last one are known too.
    var (hasher, names) = (Hasher(), parent)
    if contested.isEmpty, let lastParent, !lastParent.isEmpty, FolderPath(lastParent).holds(parent) {
      (hasher, names) = (parentHasher, parent.dropFirst(lastParent.count))
    }
    var hashes = [Int]()
    for name in names.split(separator: Self.slash) {
      hasher = Self.hasher(of: name, in: hasher)
      let known = hasher
      hashes.append(known.finalize())
    }
    var isBelowContested = false
    for hash in hashes.reversed() {
      if contested.contains(hash) {
        isBelowContested = true
      } else if files.contains(hash) {
        throw BatchError(
          .invalid, "refused: an earlier member that is not a folder has its folder's name", path: path)
      }
      // The folders above a known one are known too.
      if folders.contains(hash), contested.isEmpty { break }
    }
    // Only now, because a refused member claims nothing.
    for hash in hashes.reversed() {
      guard addFolder(hash) else { break }
    }
    (lastParent, parentHasher) = (parent, hasher)
    return isBelowContested
  }

  @discardableResult
  private mutating func addFolder(_ hash: Int) -> Bool {
    guard folders.insert(hash).inserted else { return false }
    folderCount += 1
    return true
  }

  private static func hash(of name: ArraySlice<UInt8>, in folder: Hasher) -> Int {
    hasher(of: name, in: folder).finalize()
  }

  private static func hasher(of name: ArraySlice<UInt8>, in folder: Hasher) -> Hasher {
    var hasher = folder
    name.withUnsafeBytes { hasher.combine(bytes: $0) }
    hasher.combine(slash)
    return hasher
  }
}
