import BatchEngine

/// The names that the members of an archive take, in its order.
///
/// A name costs some 16 bytes: of each only a hash of 64 bits is kept, whose key is this process's own. That two of a
/// million names have the same one has a chance of 3 in 100 million.
struct MemberClaims {
  /// What a member has to wait for.
  enum Turn: Sendable {
    /// Nothing: no other member before it has to do with its name.
    case any
    /// All members before it, since one of them had the name of a folder above it.
    case afterAll
    /// All members before it, one of which had its name and is replaced.
    case replaces
  }

  private static let slash = UInt8(ascii: "/")

  /// Places of files, FIFOs and devices, which are made as they come.
  private var files: Set<Int> = []
  /// Places of links, which are made at the end.
  private var links: Set<Int> = []
  /// Places of folders, also of those that are not members and hold one.
  private var folders: Set<Int> = []
  /// Places that were those of files, and then of folders.
  private var contested: Set<Int> = []
  /// The folder of the member before, whose own folders are known.
  private var lastParent: ArraySlice<UInt8>?
  /// What the names of that folder are hashed into.
  private var parentHasher = Hasher()
  /// How many folders there are, also those that are not members.
  private(set) var folderCount = 0

  /// Takes a place for the next member.
  ///
  /// - Throws: `invalid` when an earlier member, which is no folder, has the name of a folder above.
  mutating func claim(_ place: RelativePath, _ kind: ArchiveEntry.Kind, path: PathBytes) throws(BatchError)
    -> Turn
  {
    let isBelowContested = try claimFolders(above: place, path: path)
    let hash = Self.hash(of: place.bytes[place.nameStart...], in: parentHasher)
    let others: Turn = isBelowContested ? .afterAll : .any
    switch kind {
    case .directory:
      guard !place.bytes.isEmpty else { return .any }
      let wasFile = files.remove(hash) != nil
      if wasFile { contested.insert(hash) }
      let wasLink = links.remove(hash) != nil
      addFolder(hash)
      return wasFile || wasLink ? .replaces : others
    case .symbolicLink, .hardLink:
      // Of the two a folder stays, and the link is refused.
      guard !folders.contains(hash) || contested.contains(hash) else { return others }
      let wasFile = files.remove(hash) != nil
      return !links.insert(hash).inserted || wasFile ? .replaces : others
    case .file, .fifo, .characterDevice, .blockDevice:
      let wasLink = links.remove(hash) != nil
      let wasFolder = folders.contains(hash)
      // A member in that folder is refused from now on.
      if wasFolder { lastParent = nil }
      return !files.insert(hash).inserted || wasLink || wasFolder ? .replaces : others
    }
  }

  /// - Returns: whether one of them was a file before.
  private mutating func claimFolders(above place: RelativePath, path: PathBytes) throws(BatchError) -> Bool {
    let parent = place.parent
    if contested.isEmpty, parent == lastParent { return false }
    // A name is hashed behind those before it, so that all folders on the way take one pass.
    var hasher = Hasher()
    var hashes = [Int]()
    for name in parent.split(separator: Self.slash) {
      hasher = Self.hasher(of: name, in: hasher)
      let known = hasher
      hashes.append(known.finalize())
    }
    parentHasher = hasher
    var isBelowContested = false
    for hash in hashes.reversed() {
      if contested.contains(hash) {
        isBelowContested = true
      } else if files.contains(hash) {
        throw BatchError(
          .invalid, "refused: an earlier member, which is no folder, has the name of its folder", path: path)
      }
      if !addFolder(hash), contested.isEmpty { break }
    }
    lastParent = parent
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
