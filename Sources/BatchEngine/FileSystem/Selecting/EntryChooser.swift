/// Decides which entries of one folder a walk takes.
struct EntryChooser {
  private let names: NameArena
  private let filter: PathFilter?
  private let scope: IgnoreScope?
  private let isCache: Bool
  private let nameStart: Int
  /// The folder's path below the operand, followed by the name that is being judged.
  private var path: [UInt8]

  init(directory: DirectoryPath, names: NameArena, filter: PathFilter?, isCache: Bool) {
    self.names = names
    self.isCache = isCache
    scope = directory.scope
    // The filter applies the ignore files, so it is needed even if no rule was given.
    guard let filter = filter ?? (directory.scope == nil ? nil : PathFilter()) else {
      // Without a filter the path is not needed.
      (self.filter, path, nameStart) = (nil, [], 0)
      return
    }
    let prefix = directory.prefix.bytes
    self.filter = filter.below(prefix[..<directory.operandLength])
    path = Array(prefix[directory.operandLength...])
    nameStart = path.count
  }

  package mutating func takes(_ entry: DirectoryEntry, isDirectory: Bool) -> Bool {
    if isCache {
      return names.withName(at: entry.nameOffset) { $0.elementsEqual(PathFilter.cacheTagName.bytes) }
    }
    guard let filter else { return true }
    path.removeSubrange(nameStart...)
    names.withName(at: entry.nameOffset) { path.append(contentsOf: $0) }
    let decision = filter.decision(
      relativePath: path.span, nameStart: nameStart, isDirectory: isDirectory, scope: scope)
    return decision == .take
  }
}
