import Synchronization

/// A folder of a walk, every ``levels`` levels, from which the folders below it are opened.
///
/// Paths below it are stored relative to it, so that the folders of a deep tree share the beginning of their paths.
package final class FolderAnchor: Sendable {
  /// A folder becomes an anchor if it is this many levels below the last one.
  static let levels = 32
  /// A folder also becomes an anchor if its path from the last anchor has this many bytes: then a path with one more name still
  /// fits into one call.
  static let pathLength = 1024

  /// The path from the outer anchor, or including the operand if there is none; ends in `/`.
  let names: [UInt8]
  /// The inode that the walk opened.
  let identity: FileIdentity
  /// How many folders lie between the operand and this one.
  let depth: Int
  /// How many names and bytes the whole path has.
  let levels: Int
  let length: Int
  let held: HeldFolders
  /// In a mutex, because the chain is as long as the tree is deep and must be released in a loop, not recursively.
  private let link: Mutex<FolderAnchor?>

  init(outer: FolderAnchor?, names: [UInt8], identity: FileIdentity, depth: Int, held: HeldFolders) {
    link = Mutex(outer)
    self.names = names
    self.identity = identity
    self.depth = depth
    levels = (outer?.levels ?? 0) + PathLimits.names(in: names[...])
    length = (outer?.length ?? 0) + names.count
    self.held = held
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

  /// The anchor above; nil for the outermost one.
  var outer: FolderAnchor? { link.withLock { $0 } }

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
