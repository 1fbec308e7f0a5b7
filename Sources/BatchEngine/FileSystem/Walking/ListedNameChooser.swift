import Glibc

/// Judges names from a list as a walk of the base folder would judge them.
///
/// The result for the folders of the last name is kept, so that each folder is examined once for consecutive names.
package struct ListedNameChooser {
  private struct Level {
    let name: ArraySlice<UInt8>
    let directory: DirectoryPath
    let isTaken: Bool
    let isCache: Bool
  }

  private let options: WalkOptions
  private let base: PathBytes
  private let calls: any FileSystemCalls
  /// Whether names are needed: for rules, ignore files and cache tags, not for sizes and file systems.
  private let judgesNames: Bool
  private let device: UInt64?
  private var isBelowRoot = false
  private var levels: [Level] = []

  /// - Parameter base: the folder in which relative names begin; the walk stays on its file system.
  package init(options: WalkOptions, base: PathBytes, calls: any FileSystemCalls) {
    self.options = options
    self.base = base
    self.calls = calls
    judgesNames = options.filter != nil || options.readsIgnoreFiles || options.skipsCaches
    device =
      options.staysOnFileSystem ? (try? FolderOpener(calls: calls).status(of: base))?.identity.device : nil
  }

  /// - Parameter status: nil for a file that cannot be examined; then the name alone decides.
  package mutating func takes(_ path: PathBytes, status: FileStatus?) -> Bool {
    if let status {
      guard options.takes(status) else { return false }
      if let device, status.identity.device != device { return false }
    }
    return takes(path, isDirectory: false)
  }

  /// Judges the names of a path alone, not what is found there.
  package mutating func takes(_ path: PathBytes, isDirectory: Bool) -> Bool {
    guard judgesNames else { return true }
    var names = path.bytes.split(separator: UInt8(ascii: "/")).filter { $0 != [UInt8(ascii: ".")] }
    guard let last = names.popLast() else { return true }
    let folder = enter(names, fromRoot: path.isAbsolute)
    return folder.isTaken && takes(last, isDirectory: isDirectory, in: folder)
  }

  // MARK: Folders

  private mutating func enter(_ names: [ArraySlice<UInt8>], fromRoot: Bool) -> Level {
    if fromRoot != isBelowRoot { levels = [] }
    isBelowRoot = fromRoot
    var top =
      levels.first
      ?? look(
        at: DirectoryPath(operand: fromRoot ? "/" : base), named: [], isTaken: true)
    if levels.isEmpty { levels = [top] }
    for (index, name) in names.enumerated() {
      if index + 1 < levels.count {
        if levels[index + 1].name == name {
          top = levels[index + 1]
          continue
        }
        levels.removeSubrange((index + 1)...)
      }
      let entry = DirectoryEntry(nameOffset: 0, kind: .directory, inode: 0)
      let directory = top.directory.subdirectory(of: entry, names: NameArena(name: name), device: 0)
      top = look(at: directory, named: name, isTaken: top.isTaken && takes(name, isDirectory: true, in: top))
      levels.append(top)
    }
    levels.removeSubrange((names.count + 1)...)
    return top
  }

  /// Reads the ignore file and the cache tag of a folder, if they are used.
  private func look(at directory: DirectoryPath, named name: ArraySlice<UInt8>, isTaken: Bool) -> Level {
    var scope = directory.scope
    var isCache = false
    if isTaken, options.readsIgnoreFiles || options.skipsCaches {
      let markers = FolderMarkers(calls: calls)
      if options.readsIgnoreFiles { scope = scope ?? IgnoreScope() }
      // A folder that cannot be opened has no markers; its files will be reported.
      if let folder = try? FolderOpener(calls: calls).open(directory, followingLast: true) {
        if options.readsIgnoreFiles { scope = markers.scope(of: directory, at: folder) }
        isCache = options.skipsCaches && markers.hasCacheTag(at: folder.raw)
      }
    }
    return Level(
      name: name, directory: scope.map(directory.scoped) ?? directory, isTaken: isTaken, isCache: isCache)
  }

  private func takes(_ name: ArraySlice<UInt8>, isDirectory: Bool, in folder: Level) -> Bool {
    var chooser = EntryChooser(
      directory: folder.directory, names: NameArena(name: name), filter: options.filter,
      isCache: folder.isCache)
    let kind = isDirectory ? FileStatus.Kind.directory : .regular
    return chooser?.takes(DirectoryEntry(nameOffset: 0, kind: kind, inode: 0), isDirectory: isDirectory)
      ?? true
  }
}
