import BatchEngine
import var Glibc.EACCES
import var Glibc.ENOENT

/// Visits folders below the target of an extraction or a mirror, each one after its subfolders.
///
/// Each is opened in its parent, by name and not through a link. Some folders on the way stay open; a closed one is opened
/// again as `..` of its subfolder, and must be the same inode. So each folder needs a bounded number of calls at any depth.
struct FolderDescent {
  private struct Level {
    let node: FolderTree.Node
    /// The subfolders that have not been visited yet.
    var rest: Range<Int>
    /// Or why it cannot be opened.
    let identity: Result<FileIdentity, BatchError>
    /// Nil if it is closed, or cannot be opened.
    var open: Open?
  }

  private struct Open {
    let folder: OpenFolder
    /// Why it is open for looking up names only.
    var failure: BatchError?
  }

  struct Visit {
    let node: FolderTree.Node
    /// The folder opened for reading, or why it cannot be opened.
    let folder: Result<OpenFolder, BatchError>
    /// Its parent; nil if that could not be opened, and for the target folder.
    let parent: OpenFolder?
  }

  private static let fewestOpen = 2
  /// In smaller trees several threads save nothing.
  private static let foldersForThreads = 256
  private static let mostThreads = 8

  private let tree: FolderTree
  private let root: OpenFolder
  private let limit: Int
  private let opener: FolderOpener

  /// - Parameter open: how many folders may be open at once; at least two are used.
  init(_ tree: FolderTree, below root: OpenFolder, holding open: Int, opener: FolderOpener) {
    self.tree = tree
    self.root = root
    self.opener = opener
    limit = max(Self.fewestOpen, open)
  }

  func visit(_ body: (Visit) throws(BatchError) -> Void) throws(BatchError) {
    let (children, groups) = tree.children()
    try visit(from: first(groups), children, groups, holding: limit, body)
  }

  /// Visits the folders on several threads, and passes on the results in the order of ``visit(_:)``.
  ///
  /// - Parameters:
  ///   - strides: calls a function for each number below a count on several threads, and returns the results in their order.
  ///     `least` is the number of calls that are worth one thread.
  ///   - work: called on several threads, for each folder after its subfolders.
  func visit<Value: Sendable>(
    by strides: (_ count: Int, _ least: Int, @Sendable (Int) -> [Value]) -> [[Value]],
    _ work: @escaping @Sendable (Visit) -> Value, then: (Value) throws(BatchError) -> Void
  ) throws(BatchError) {
    guard tree.count >= Self.foldersForThreads else {
      return try visit { (visit) throws(BatchError) in try then(work(visit)) }
    }
    let (children, groups) = tree.children()
    // The folders from the target to the first one with several subfolders.
    var way = [first(groups)]
    while let last = way.last, last.rest.count == 1, way.count < limit {
      let node = children[last.rest.lowerBound]
      let (identity, open) = enter(node, in: last)
      guard let open, open.failure == nil else { break }
      way.append(Level(node: node, rest: groups[Int(node)], identity: identity, open: open))
    }
    let share = (limit - way.count) / Self.mostThreads
    guard let fork = way.last, fork.rest.count > 1, share >= Self.fewestOpen else {
      way = []
      return try visit { (visit) throws(BatchError) in try then(work(visit)) }
    }
    let parts = strides(
      fork.rest.count, (fork.rest.count + Self.mostThreads - 1) / Self.mostThreads
    ) { number in
      var values: [Value] = []
      var start = fork
      start.rest = (fork.rest.lowerBound + number)..<(fork.rest.lowerBound + number + 1)
      visit(from: start, children, groups, holding: share) { visit in
        if visit.node != fork.node { values.append(work(visit)) }
      }
      return values
    }
    for part in parts { for value in part { try then(value) } }
    while let level = way.popLast() {
      try then(
        work(Visit(node: level.node, folder: folder(of: level), parent: way.last?.open?.folder)))
    }
  }

  private func first(_ groups: [Range<Int>]) -> Level {
    Level(
      node: FolderTree.root, rest: groups[Int(FolderTree.root)], identity: .success(root.identity),
      open: Open(folder: root))
  }

  /// Visits the rest of the subfolders of a folder with all that is in them, and then the folder.
  private func visit<Failure>(
    from start: Level, _ children: [FolderTree.Node], _ groups: [Range<Int>], holding limit: Int,
    _ body: (Visit) throws(Failure) -> Void
  ) throws(Failure) {
    // The first folder is not counted. The open ones are always the last ones of the way.
    var levels = [start]
    while let last = levels.indices.last {
      if let next = levels[last].rest.popFirst() {
        let node = children[next]
        let (identity, open) = enter(node, in: levels[last])
        levels.append(Level(node: node, rest: groups[Int(node)], identity: identity, open: open))
        if levels.count - 1 > limit { levels[levels.count - 1 - limit].open = nil }
        continue
      }
      let level = levels.removeLast()
      // Opened before this folder gets its mode, which may prevent opening `..` in it.
      if last > 0, levels[last - 1].open == nil { levels[last - 1].open = openAgain(levels, from: level) }
      try body(Visit(node: level.node, folder: folder(of: level), parent: levels.last?.open?.folder))
    }
  }

  private func folder(of level: Level) -> Result<OpenFolder, BatchError> {
    Result { () throws(BatchError) in
      do throws(BatchError) {
        _ = try level.identity.get()
        guard let open = level.open else { throw Self.moved }
        if let failure = open.failure { throw failure }
        return open.folder
      } catch {
        throw ContainedFolder.error(error, at: tree.path(of: level.node)[...])
      }
    }
  }

  private static var moved: BatchError { .syscall("open the folder", errno: ENOENT) }

  private func enter(
    _ node: FolderTree.Node, in outer: Level
  ) -> (Result<FileIdentity, BatchError>, Open?) {
    do throws(BatchError) {
      _ = try outer.identity.get()
      guard let parent = outer.open else { throw Self.moved }
      let open = try open(tree.name(of: node), in: parent.folder)
      return (.success(open.folder.identity), open)
    } catch {
      return (.failure(error), nil)
    }
  }

  /// - Parameter name: may be `..`.
  private func open(_ name: [UInt8], in parent: OpenFolder) throws(BatchError) -> Open {
    do throws(BatchError) {
      return Open(folder: try opener.child(name[...], of: parent, shown: PathBytes(name)))
    } catch {
      guard error.errno == EACCES else { throw error }
      return Open(
        folder: try opener.child(name[...], of: parent, shown: PathBytes(name), isSearched: true),
        failure: error)
    }
  }

  /// Opens the last level again: from a subfolder, or from the levels above it.
  private func openAgain(_ levels: [Level], from inner: Level) -> Open? {
    guard let identity = try? levels.last?.identity.get() else { return nil }
    if let inner = inner.open, let open = try? open(Array("..".utf8), in: inner.folder),
      open.folder.identity == identity
    {
      return open
    }
    guard let first = levels.lastIndex(where: { $0.open != nil }) else { return nil }
    var current = levels[first].open
    for level in levels[(first + 1)...] {
      guard let outer = current, let open = try? open(tree.name(of: level.node), in: outer.folder),
        open.folder.identity == (try? level.identity.get())
      else { return nil }
      current = open
    }
    return current
  }
}
