import Synchronization

/// A folder on the way of a walk, one every ``levels`` levels, from which the folders below it are opened.
///
/// Paths below it are stored from it on, so that the folders of a deep tree share what stands before.
package final class FolderAnchor: Sendable {
  /// A folder this many levels below the last anchor becomes an anchor.
  static let levels = 32
  /// A folder with this many bytes of path from the last anchor becomes one too: with one more name the path still fits in one
  /// call.
  static let pathLength = 1024

  /// The path from the outer anchor, or with the operand where there is none; ends in `/`.
  let names: [UInt8]
  /// The inode that the walk opened.
  let identity: FileIdentity
  /// How many folders lie between the operand and this one.
  let depth: Int
  /// How many names and bytes the whole path has.
  let levels: Int
  let length: Int
  /// Those that are open.
  let held: HeldFolders
  /// The folder, where it stays open in any case.
  let open: OpenFolder?
  /// In a mutex because the chain is released link by link and not recursively: it is as long as the tree is deep.
  private let link: Mutex<FolderAnchor?>

  init(
    outer: FolderAnchor?, names: [UInt8], identity: FileIdentity, depth: Int, held: HeldFolders,
    open: OpenFolder? = nil
  ) {
    link = Mutex(outer)
    self.names = names
    self.identity = identity
    self.depth = depth
    levels = (outer?.levels ?? 0) + PathLimits.names(in: names[...])
    length = (outer?.length ?? 0) + names.count
    self.held = held
    self.open = open
  }

  /// An anchor without one above that stays open.
  package convenience init(_ folder: OpenFolder, held: HeldFolders) {
    self.init(outer: nil, names: [], identity: folder.identity, depth: 0, held: held, open: folder)
  }

  deinit {
    held.leave(self)
    var next = link.withLock { $0.take() }
    while var anchor = next {
      next = nil
      guard isKnownUniquelyReferenced(&anchor) else { return }
      next = anchor.link.withLock { $0.take() }
    }
  }

  /// The anchor above, nil where the operand is nearer.
  var outer: FolderAnchor? { link.withLock { $0 } }

  /// The key by which it is held open.
  var key: HeldFolders.Key {
    .anchor(ObjectIdentifier(self), depth: depth, outer: outer.map { ObjectIdentifier($0) })
  }

  /// This anchor and those above it, the nearest to the operand first.
  var chain: [FolderAnchor] {
    var anchors = [self]
    while let outer = anchors.last?.outer { anchors.append(outer) }
    return anchors.reversed()
  }
}
