import BatchEngine

/// Visits folders below the target of an extraction, each one after its subfolders.
///
/// Each is opened in its parent, by name and not through a link. Some folders on the way stay open; a closed one is opened
/// again as `..` of its subfolder, and must be the same inode. So each folder needs a bounded number of calls at any depth.
struct FolderDescent {
  private struct Level {
    let node: FolderTree.Node
    /// The subfolders that have not been visited yet.
    var rest: Range<Int>
    /// Its anchor, or why it cannot be opened.
    let place: Result<FolderAnchor, BatchError>
  }

  struct Visit {
    let node: FolderTree.Node
    /// The folder opened for reading, or why it cannot be opened.
    let folder: Result<OpenFolder, BatchError>
    /// Its parent; nil if that could not be opened, and for the target folder.
    let parent: OpenFolder?
  }

  private static let fewestOpen = 2

  private let tree: FolderTree
  private let root: OpenFolder
  private let opener: FolderOpener
  private let held: HeldFolders

  /// - Parameter open: how many folders may be open at once; at least two are used.
  init(_ tree: FolderTree, below root: OpenFolder, holding open: Int, opener: FolderOpener) {
    self.tree = tree
    self.root = root
    self.opener = opener
    held = HeldFolders(limit: max(Self.fewestOpen, open))
  }

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
      // Opened before this folder gets its mode, which may prevent opening `..` in it.
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
