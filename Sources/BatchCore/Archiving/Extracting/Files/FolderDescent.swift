import BatchEngine

/// Visits folders below the target of an extraction, each one after all that are in it.
///
/// Each is opened from the folder above, by its name and not through a link. Some of the folders on the way stay open; one that
/// was closed is opened again as `..` of the one below, and has to be the same inode. So each folder takes a bounded number of
/// calls, whatever its depth.
struct FolderDescent {
  /// A folder on the way.
  private struct Level {
    let node: FolderTree.Node
    /// The folders in it that are still to be visited.
    var rest: Range<Int>
    /// Where it is, or why it cannot be opened.
    let place: Result<FolderAnchor, BatchError>
  }

  /// What is known of a folder when it is visited.
  struct Visit {
    let node: FolderTree.Node
    /// Open for reading, or why not.
    let folder: Result<OpenFolder, BatchError>
    /// The folder that holds it; nil where that could not be opened, and for the target folder.
    let parent: OpenFolder?
  }

  private static let fewestOpen = 2

  private let tree: FolderTree
  private let root: OpenFolder
  private let opener: FolderOpener
  private let held: HeldFolders

  /// - Parameter open: how many folders may be open at once; two are in any case.
  init(_ tree: FolderTree, below root: OpenFolder, holding open: Int, opener: FolderOpener) {
    self.tree = tree
    self.root = root
    self.opener = opener
    held = HeldFolders(limit: max(Self.fewestOpen, open))
  }

  /// - Throws: what `body` throws.
  func visit(_ body: (Visit) throws(BatchError) -> Void) throws(BatchError) {
    let (children, groups) = tree.children()
    let top = FolderAnchor(root, held: held)
    var levels = [Level(node: FolderTree.root, rest: groups[Int(FolderTree.root)], place: .success(top))]
    while var level = levels.popLast() {
      if let next = level.rest.popFirst() {
        let node = children[next]
        let place = place(of: node, in: level)
        levels += [level, Level(node: node, rest: groups[Int(node)], place: place)]
        continue
      }
      let folder = Result { () throws(BatchError) in try open(level) }
      // Before this one has the mode that may forbid to go up from it.
      let parent = try? levels.last.map { (level) throws(BatchError) in
        try opener.folder(of: try level.place.get())
      }
      try body(Visit(node: level.node, folder: folder, parent: parent))
    }
  }

  private func place(of node: FolderTree.Node, in level: Level) -> Result<FolderAnchor, BatchError> {
    level.place.flatMap { outer in
      Result { () throws(BatchError) in
        do throws(BatchError) {
          return try opener.anchor(tree.name(of: node), in: outer)
        } catch {
          throw ContainedFolder.error(error, at: tree.path(of: node)[...])
        }
      }
    }
  }

  private func open(_ level: Level) throws(BatchError) -> OpenFolder {
    let place = try opener.folder(of: try level.place.get())
    do throws(BatchError) {
      return try place.readable()
    } catch {
      throw ContainedFolder.error(error, at: tree.path(of: level.node)[...])
    }
  }
}
