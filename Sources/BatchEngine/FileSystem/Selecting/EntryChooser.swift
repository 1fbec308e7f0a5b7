/// Decides which entries of one folder a walk takes.
struct EntryChooser {
  private let names: NameArena
  private let filter: PathFilter
  private let scope: IgnoreScope?
  private let isCache: Bool
  private let nameStart: Int
  /// The folder's path below the operand, followed by the name that is being judged.
  private var path: [UInt8]

  /// - Returns: nil if all entries are taken.
  init?(directory: DirectoryPath, names: NameArena, filter: PathFilter?, isCache: Bool) {
    guard filter != nil || directory.scope != nil || isCache else { return nil }
    self.names = names
    self.isCache = isCache
    scope = directory.scope
    let prefix = directory.prefix.bytes
    // The filter applies the ignore files, so it is needed even if no rule was given.
    self.filter = (filter ?? PathFilter()).below(prefix[..<directory.operandLength])
    path = Array(prefix[directory.operandLength...])
    nameStart = path.count
  }

  package mutating func takes(_ entry: DirectoryEntry, isDirectory: Bool) -> Bool {
    if isCache {
      return names.withName(at: entry.nameOffset) { $0.elementsEqual(PathFilter.cacheTagName.bytes) }
    }
    path.removeSubrange(nameStart...)
    names.withName(at: entry.nameOffset) { path.append(contentsOf: $0) }
    let decision = filter.decision(
      relativePath: path.span, nameStart: nameStart, isDirectory: isDirectory, scope: scope)
    return decision == .take
  }
}
