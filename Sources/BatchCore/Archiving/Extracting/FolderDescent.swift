import BatchEngine
import CLinux
import Glibc

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
    /// Nil for one that was closed or could not be opened.
    var descriptor: Int32?
    /// Of one that was closed.
    var identity: FileIdentity?
    /// Why it cannot be opened, or not for its metadata.
    var error: BatchError?
  }

  /// What is known of a folder when it is visited.
  struct Visit {
    let node: FolderTree.Node
    /// Open for reading, or why not.
    let folder: Result<Int32, BatchError>
    /// The folder that holds it; nil where that could not be opened, and for the target folder.
    let parent: Int32?
  }

  private static let fewestOpen = 2
  private static let flags = O_DIRECTORY | O_NOFOLLOW

  private let folder: ExtractionFolder
  private let tree: FolderTree
  private let mostOpen: Int
  private let calls: any FileSystemCalls

  /// - Parameter open: how many folders may be open at once; two are in any case.
  init(
    _ tree: FolderTree, below folder: ExtractionFolder, holding open: Int, calls: any FileSystemCalls
  ) {
    self.tree = tree
    self.folder = folder
    mostOpen = max(Self.fewestOpen, open)
    self.calls = calls
  }

  /// - Throws: what `body` throws.
  func visit(_ body: (Visit) throws(BatchError) -> Void) throws(BatchError) {
    let (children, groups) = tree.children()
    var levels = [Level]()
    defer { for level in levels { close(level.descriptor) } }
    levels.append(open(FolderTree.root, ".", in: folder.root.raw, groups))
    while var top = levels.popLast() {
      if let next = top.rest.first {
        top.rest = top.rest.dropFirst()
        let node = children[next]
        openAgain(&top)
        let child = open(node, PathBytes(tree.name(of: node)), in: top, groups)
        levels.append(top)
        if levels.count >= mostOpen { closeForNow(&levels[levels.count - mostOpen]) }
        levels.append(child)
        continue
      }
      defer { close(top.descriptor) }
      // Before this one has the mode that may forbid to go up from it.
      if !levels.isEmpty { openAgain(&levels[levels.count - 1], from: top) }
      let opened: Result<Int32, BatchError> =
        if let error = top.error { .failure(error) } else if let descriptor = top.descriptor {
          .success(descriptor)
        } else { .failure(BatchError.syscall("open the folder", errno: ENOENT)) }
      try body(Visit(node: top.node, folder: opened, parent: levels.last?.descriptor))
    }
  }

  // MARK: Opening

  private func open(
    _ node: FolderTree.Node, _ name: PathBytes, in parent: Level, _ groups: [Range<Int>]
  ) -> Level {
    guard let directory = parent.descriptor else {
      return Level(node: node, rest: groups[Int(node)], error: parent.error)
    }
    return open(node, name, in: directory, groups)
  }

  private func open(
    _ node: FolderTree.Node, _ name: PathBytes, in directory: Int32, _ groups: [Range<Int>]
  ) -> Level {
    var level = Level(node: node, rest: groups[Int(node)])
    var result = open(name, in: directory, O_RDONLY | O_NONBLOCK)
    if result == -EACCES {
      // What is in it can be reached all the same.
      level.error = ExtractionFolder.error(EACCES, at: tree.path(of: node)[...])
      result = open(name, in: directory, clinux_o_path)
    }
    if result >= 0 {
      level.descriptor = result
    } else {
      level.error = ExtractionFolder.error(-result, at: tree.path(of: node)[...])
    }
    return level
  }

  private func open(_ name: PathBytes, in directory: Int32, _ flags: Int32) -> Int32 {
    name.withCString { calls.open($0, at: directory, flags: flags | Self.flags) }
  }

  private func closeForNow(_ level: inout Level) {
    guard let descriptor = level.descriptor else { return }
    level.identity = identity(of: descriptor)
    close(descriptor)
    level.descriptor = nil
  }

  /// Opens a folder that was closed.
  private func openAgain(_ level: inout Level, from below: Level? = nil) {
    guard level.descriptor == nil, let identity = level.identity else { return }
    if let below = below?.descriptor {
      let found = open("..", in: below, clinux_o_path)
      if found >= 0, self.identity(of: found) == identity {
        level.descriptor = upgraded(found)
        return
      }
      if found >= 0 { close(found) }
    }
    // Somebody moved it or what is in it, or forbade to go up.
    do throws(BatchError) {
      let found = try folder.open(tree.path(of: level.node)[...], creating: false)
      level.descriptor = upgraded(open(".", in: found.raw, clinux_o_path))
    } catch {
      level.error = error
      level.identity = nil
    }
  }

  /// A folder that was opened only to go through it, opened for its metadata where that is allowed.
  private func upgraded(_ found: Int32) -> Int32 {
    let opened = open(".", in: found, O_RDONLY | O_NONBLOCK)
    guard opened >= 0 else { return found }
    close(found)
    return opened
  }

  private func identity(of descriptor: Int32) -> FileIdentity? {
    var raw = stat()
    return calls.status(of: descriptor, into: &raw) == 0 ? FileStatus(raw).identity : nil
  }

  private func close(_ descriptor: Int32?) {
    if let descriptor { _ = Glibc.close(descriptor) }
  }
}
