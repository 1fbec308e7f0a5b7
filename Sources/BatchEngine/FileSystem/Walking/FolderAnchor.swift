import Glibc
import Synchronization

/// A folder on the way of a walk, one every ``levels`` levels, from which the folders below it are opened.
///
/// Paths below it are stored from it on, so that the folders of a deep tree share what stands before.
package final class FolderAnchor: Sendable {
  /// A folder that many levels below the last anchor becomes one.
  package static let levels = 32
  /// So does a folder whose path from there has that many bytes: with one name more it still fits in one call.
  static let pathLength = 1024

  /// The path from the outer anchor, or with the operand where there is none; ends in `/`.
  package let names: [UInt8]
  /// The inode that the walk opened.
  package let identity: FileIdentity
  /// How many folders lie between the operand and this one.
  package let depth: Int
  /// How many names and bytes the whole path has.
  let levels: Int
  let length: Int
  let pool: FolderAnchors
  /// In a mutex because the chain is taken apart link by link: its length is in proportion to the depth.
  private let link: Mutex<FolderAnchor?>

  init(outer: FolderAnchor?, names: [UInt8], identity: FileIdentity, depth: Int, pool: FolderAnchors) {
    link = Mutex(outer)
    self.names = names
    self.identity = identity
    self.depth = depth
    levels = (outer?.levels ?? 0) + PathLimits.names(in: names[...])
    length = (outer?.length ?? 0) + names.count
    self.pool = pool
  }

  deinit {
    pool.forget(self)
    var next = link.withLock { $0.take() }
    while var anchor = next {
      next = nil
      guard isKnownUniquelyReferenced(&anchor) else { return }
      next = anchor.link.withLock { $0.take() }
    }
  }

  /// The anchor above, nil where the operand is nearer.
  package var outer: FolderAnchor? { link.withLock { $0 } }

  /// How many names lie between the outer anchor, or the operand, and this one.
  var height: Int { depth - (outer?.depth ?? 0) }

  /// This anchor and those above it, the nearest to the operand first.
  var chain: [FolderAnchor] {
    var anchors = [self]
    while let outer = anchors.last?.outer { anchors.append(outer) }
    return anchors.reversed()
  }
}

/// The anchors that are open. Their descriptors are set apart from the budget of the run.
package final class FolderAnchors: Sendable {
  /// An open anchor; it closes when it was given up here and nobody uses it any more.
  package final class OpenFolder: Sendable {
    package let descriptor: Descriptor
    package let depth: Int

    package init(_ descriptor: consuming Descriptor, depth: Int) {
      self.descriptor = descriptor
      self.depth = depth
    }
  }

  private struct Entry {
    /// nil for one that the walk has left, by which the one above can be reached.
    var anchor: ObjectIdentifier?
    let outer: ObjectIdentifier?
    let folder: OpenFolder
  }

  /// How many may be open; with 0 there are no anchors.
  package let limit: Int
  /// The one that was used last stands last.
  private let entries = Mutex<[Entry]>([])

  init(limit: Int) {
    self.limit = limit
  }

  /// An anchor that is open.
  package func folder(of anchor: FolderAnchor) -> OpenFolder? {
    entries.withLock { entries in
      guard let index = entries.lastIndex(where: { $0.anchor == ObjectIdentifier(anchor) }) else {
        return nil
      }
      entries.append(entries.remove(at: index))
      return entries.last?.folder
    }
  }

  /// An open anchor that lies directly below another one.
  package func folder(below anchor: FolderAnchor) -> OpenFolder? {
    entries.withLock { $0.last { $0.outer == ObjectIdentifier(anchor) }?.folder }
  }

  /// Keeps an open anchor, in place of the one that was not used for the longest time.
  package func keep(_ folder: OpenFolder, for anchor: FolderAnchor) {
    let entry = Entry(
      anchor: ObjectIdentifier(anchor), outer: anchor.outer.map { ObjectIdentifier($0) }, folder: folder)
    // Closed outside the lock.
    var dropped: Entry?
    entries.withLock { entries in
      guard limit > 0, !entries.contains(where: { $0.anchor == entry.anchor }) else { return }
      if entries.count >= limit { dropped = entries.removeFirst() }
      entries.append(entry)
    }
    _ = dropped
  }

  /// Closes all of them; those that are needed later are opened again.
  func closeAll() {
    let dropped = entries.withLock { entries in
      defer { entries = [] }
      return entries
    }
    // Closed outside the lock.
    _ = dropped
  }

  /// Gives up an anchor that the walk has left; it stays open while the one above is closed, which is needed next.
  package func forget(_ anchor: FolderAnchor) {
    let identifier = ObjectIdentifier(anchor)
    var dropped = [Entry]()
    entries.withLock { entries in
      guard let first = entries.firstIndex(where: { $0.anchor == identifier || $0.outer == identifier })
      else { return }
      for index in entries.indices[first...].reversed() {
        let entry = entries[index]
        let isLeft = entry.anchor == nil && entry.outer == identifier
        guard isLeft || entry.anchor == identifier else { continue }
        let isNeeded = entry.outer.map { outer in !entries.contains { $0.anchor == outer } } ?? false
        if isLeft || !isNeeded {
          dropped.append(entries.remove(at: index))
        } else {
          entries[index].anchor = nil
        }
      }
    }
    // Closed outside the lock.
    _ = dropped
  }
}
