import BatchEngine
import BatchOutputs
import var Glibc.EEXIST
import var Glibc.ENOTEMPTY

/// Removes from the target what the sources do not have, only below the folders that were mirrored.
///
/// It reads the folders of both sides twice: first everything is counted and judged, then it is removed. The source is looked up
/// again just before each removal. No link is followed, and no other file system is entered.
struct MirrorRemoval {
  private static let slash = UInt8(ascii: "/")

  /// What was counted below a source.
  private struct Census {
    var count = RemovalLimit.Census()
    /// Whether the folder of the source has entries.
    var hasSource = false
  }

  /// A folder of a source.
  private struct Source {
    let number: Int
    let folder: OpenFolder
    let names: Set<[UInt8]>
    /// Its path below the operand.
    let rest: ArraySlice<UInt8>
  }

  private let target: MirrorTarget
  private let setting: MirrorJob.Setting
  private let folders: FolderTree
  private let described: Set<FolderTree.Node>
  private let obstructed: [RelativePath]
  private let context: CollectorContext
  private let removal: MirroringOptions.Removal
  private let opener: FolderOpener
  private let roots: [OpenFolder?]
  /// One for each operand.
  private var choosers: [ListedNameChooser]
  private var censuses: [[UInt8]: Census] = [:]

  init(
    _ target: MirrorTarget, _ setting: MirrorJob.Setting, _ folders: FolderTree,
    described: Set<FolderTree.Node>, obstructed: [RelativePath], in context: CollectorContext
  ) {
    (self.target, self.setting, self.folders, self.described) = (target, setting, folders, described)
    (self.obstructed, self.context) = (obstructed, context)
    removal = setting.options.removal ?? MirroringOptions.Removal()
    opener = context.folders
    let calls = context.calls
    choosers = setting.operands.all.map {
      ListedNameChooser(options: setting.walk, base: $0.path, calls: calls)
    }
    let opener = opener
    roots = setting.operands.all.map { try? opener.folder(named: $0.path) }
  }

  // MARK: The two passes

  /// Counts what would be removed.
  ///
  /// - Throws: why nothing may be removed.
  mutating func judge() throws(BatchError) {
    for operand in setting.operands.all { censuses[operand.base] = Census() }
    try forEachDoomed { (_, _, _, _) in true }
    let doomed = censuses.filter { $0.value.count.doomed > 0 }.sorted {
      $0.key.lexicographicallyPrecedes($1.key)
    }.map { (path: target.path(of: RelativePath(folder: $0.key, name: [])), census: $0.value) }
    if let empty = doomed.first(where: { !$0.census.hasSource }) {
      throw BatchError(
        .invalid, "nothing was removed: the source is empty, and the target has files", path: empty.path,
        remedy: "mount the source; or, if this is meant, remove the files of the target yourself")
    }
    try RemovalLimit(mostFiles: removal.mostFiles).check(
      doomed.map { ($0.path, $0.census.count) }, in: target.folder.path)
  }

  /// Removes what was judged.
  ///
  /// - Parameter report: receives each removed path.
  /// - Returns: how many paths were removed.
  mutating func remove(_ report: (MirrorReport) throws(BatchError) -> Void) throws(BatchError) -> Int {
    var count = 0
    let (target, right, isDryRun) = (target, context.commits, setting.options.isDryRun)
    let context = context
    try forEachDoomed { (place, kind, folder, isCertain) throws(BatchError) in
      guard isCertain() else { return false }
      if !isDryRun {
        let failed = folder.remove(place.name, isFolder: kind == .directory, by: right)
        guard failed == 0 else {
          // A folder with something that is protected stays.
          if kind == .directory, failed == ENOTEMPTY || failed == EEXIST { return false }
          let path = target.path(of: place)
          context.counters.addFailed()
          context.report(
            Problem(.unreadable, BatchError.syscall("remove", errno: failed, path: path)), severity: .failure)
          return false
        }
        if kind == .directory { target.folder.forget(place) }
      }
      count += 1
      try report(MirrorReport(removed: place, below: target.folder.path, kind))
      return true
    }
    return count
  }

  // MARK: What is to be removed

  /// Receives the place and kind of an entry, its folder, and a last look at the source; returns whether it was removed.
  private typealias Body = (
    RelativePath, FileStatus.Kind, OpenFolder, () -> Bool
  ) throws(BatchError) -> Bool

  private mutating func forEachDoomed(_ body: Body) throws(BatchError) {
    try forEachInTheWay(body)
    let descent = FolderDescent(
      folders, below: target.folder.root, holding: 2, opener: target.folder.opener)
    try descent.visit { (visit) throws(BatchError) in
      guard described.contains(visit.node) else { return }
      let path = folders.path(of: visit.node)
      switch visit.folder {
      case .success(let folder): try examine(folder, path, body)
      case .failure(let error):
        // In a dry run it may not exist yet.
        guard error.isNotFound else { throw error.at(target.path(of: RelativePath(folder: path, name: []))) }
      }
    }
  }

  private mutating func examine(_ folder: OpenFolder, _ path: [UInt8], _ body: Body) throws(BatchError) {
    try context.checkCancellation()
    let sources = try sources(of: path)
    let base = self.base(of: path)
    if !sources.allSatisfy(\.names.isEmpty) { censuses[base]?.hasSource = true }
    for (name, kind) in try folder.entries() where TemporaryName(name.bytes[...]) == nil {
      let place = RelativePath(folder: path, name: name.bytes)
      let isFolder = kind == .directory
      if !isFolder { censuses[base]?.count.files += 1 }
      var isKept = false
      var excluding: Set<Int> = []
      for source in sources {
        if isExcluded(name, isFolder, source.number, source.rest) {
          excluding.insert(source.number)
        } else if source.names.contains(name.bytes) {
          isKept = true
        }
      }
      if isKept || !excluding.isEmpty && !removal.removesFiltered { continue }
      guard let status = try folder.look(at: name), !setting.protected.contains(status.identity),
        status.identity != target.folder.root.identity
      else { continue }
      let isCertain = {
        !sources.contains { source in
          guard !excluding.contains(source.number) else { return false }
          // Only a name that is certainly missing allows the removal.
          do throws(BatchError) { return try source.folder.look(at: name) != nil } catch { return true }
        }
      }
      if isFolder {
        try removeTree(place, on: folder.identity.device, base, isCertain, body)
      } else {
        censuses[base]?.count.doomed += 1
        _ = try body(place, kind, folder, isCertain)
      }
    }
  }

  /// Files and links in the place of folders, and folders in the place of other entries.
  private mutating func forEachInTheWay(_ body: Body) throws(BatchError) {
    for place in obstructed {
      guard let folder = try? target.folder.open(place.parent, creating: false),
        let status = try folder.look(at: place.name), !setting.protected.contains(status.identity)
      else { continue }
      let base = base(of: place.bytes)
      if status.kind == .directory {
        try removeTree(place, on: folder.identity.device, base, { true }, body)
      } else {
        // It was counted with its folder.
        censuses[base]?.count.doomed += 1
        _ = try body(place, status.kind, folder) { true }
      }
    }
  }

  /// Removes a folder with its contents, except what the filter protects and other file systems.
  ///
  /// - Parameter device: of the folder that contains it.
  private mutating func removeTree(
    _ place: RelativePath, on device: UInt64, _ base: [UInt8], _ isCertain: @escaping () -> Bool,
    _ body: Body
  ) throws(BatchError) {
    guard isCertain() else { return }
    var stack: [(path: [UInt8], isEntered: Bool)] = [(place.bytes, false)]
    let root = target.folder.root
    let sources = setting.operands.sources(of: place.bytes)
    while let (path, isEntered) = stack.popLast() {
      try context.checkCancellation()
      let own = RelativePath(folder: path, name: [])
      if isEntered {
        let parent = try target.folder.opener.folder(own.parent, below: root, shown: target.folder.path)
        _ = try body(own, .directory, parent, isCertain)
        continue
      }
      let folder = try target.folder.opener.folder(path[...], below: root, shown: target.folder.path)
      guard folder.identity.device == device, folder.identity != root.identity else {
        context.report(
          Problem(
            .special,
            BatchError(.special, "is on another file system, and is not removed", path: target.path(of: own))),
          severity: .warning)
        continue
      }
      stack.append((path, true))
      for (name, kind) in try folder.entries() {
        let inner = RelativePath(folder: path, name: name.bytes)
        let isFolder = kind == .directory
        if !removal.removesFiltered {
          let isProtected = sources.contains { operand, _ in
            let rest = inner.bytes[operand.base.count...].drop { $0 == Self.slash }
            guard let number = setting.operands.all.firstIndex(where: { $0.path == operand.path }) else {
              return false
            }
            return !choosers[number].takes(PathBytes(rest), isDirectory: isFolder)
          }
          if isProtected { continue }
        }
        if isFolder {
          stack.append((inner.bytes, false))
        } else {
          censuses[base]?.count.files += 1
          censuses[base]?.count.doomed += 1
          guard let found = try folder.look(at: name), !setting.protected.contains(found.identity) else {
            continue
          }
          _ = try body(inner, kind, folder, isCertain)
        }
      }
    }
  }

  // MARK: The sources

  private func base(of path: [UInt8]) -> [UInt8] {
    setting.operands.sources(of: path).map(\.operand.base).max { $0.count < $1.count } ?? []
  }

  private func sources(of path: [UInt8]) throws(BatchError) -> [Source] {
    var sources: [Source] = []
    for (operand, rest) in setting.operands.sources(of: path) {
      guard let number = setting.operands.all.firstIndex(where: { $0.path == operand.path }) else { continue }
      guard let root = roots[number] else {
        throw BatchError(.missing, "nothing was removed: the source cannot be opened", path: operand.path)
      }
      do throws(BatchError) {
        let folder = try opener.folder(rest, below: root, shown: operand.path.appending(rest))
        sources.append(
          Source(
            number: number, folder: folder, names: Set(try folder.entries().map(\.name.bytes)), rest: rest))
      } catch {
        // Another source of this place has the folder.
        guard error.isNotFound || error.isNoFolder else { throw error }
      }
    }
    guard !sources.isEmpty else {
      throw BatchError(
        .vanished, "nothing was removed: the folder of the source is not there any more",
        path: target.path(of: RelativePath(folder: path, name: [])))
    }
    return sources
  }

  private mutating func isExcluded(
    _ name: PathBytes, _ isFolder: Bool, _ number: Int, _ rest: ArraySlice<UInt8>
  ) -> Bool {
    !choosers[number].takes(
      PathBytes(rest.isEmpty ? name.bytes : rest + [Self.slash] + name.bytes), isDirectory: isFolder)
  }
}
