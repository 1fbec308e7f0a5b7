import Glibc
import Synchronization

/// Folders of a run that stay open because others are opened from them, up to a limit. The least recently used one is dropped;
/// it closes with its last user.
package final class HeldFolders: Sendable {
  enum Key: Sendable, Equatable {
    /// The path that the user named.
    case named(PathBytes)
    case below(FileIdentity, FolderPath)
    case anchor(ObjectIdentifier, depth: Int, outer: ObjectIdentifier?)
    /// An anchor that the walk has left, from which the anchor above can be opened.
    case left(depth: Int, outer: ObjectIdentifier)
  }

  private typealias Entry = (key: Key, folder: OpenFolder)

  /// How many may be open.
  package let limit: Int
  /// How many folders a caller may keep open in their place, while nothing else of the run needs descriptors.
  package let limitAlone: Int
  /// The most recently used one is last.
  private let entries = Mutex<[Entry]>([])

  package init(limit: Int, alone: Int? = nil) {
    self.limit = limit
    limitAlone = alone ?? limit
  }

  func folder(for key: Key) -> OpenFolder? {
    entries.withLock { entries in
      entries.lastIndex { $0.key == key }.map { Self.use($0, &entries) }
    }
  }

  /// The held folder with the longest path that leads to another one.
  ///
  /// - Parameter includingIt: whether the result may be that folder itself.
  func nearest(
    to path: ArraySlice<UInt8>, below root: FileIdentity, includingIt: Bool
  ) -> (folder: OpenFolder, length: Int)? {
    entries.withLock { entries in
      var nearest: (index: Int, length: Int)?
      // The most recently used one is usually the nearest; then shorter paths need not be compared.
      for index in entries.indices.reversed() {
        guard case .below(root, let above) = entries[index].key, above.bytes.count > nearest?.length ?? 0,
          includingIt || above.bytes.count < path.count, above.holds(path)
        else { continue }
        nearest = (index, above.bytes.count)
      }
      return nearest.map { (Self.use($0.index, &entries), $0.length) }
    }
  }

  private static func use(_ index: Int, _ entries: inout [Entry]) -> OpenFolder {
    let entry = entries.remove(at: index)
    entries.append(entry)
    return entry.folder
  }

  func keep(_ folder: OpenFolder, for key: Key) {
    drop { entries in
      guard limit > 0, !entries.contains(where: { $0.key == key }) else { return [] }
      entries.append((key, folder))
      return entries.count > limit ? [entries.removeFirst()] : []
    }
  }

  /// Drops the folder at a path below another folder, and all below it.
  func drop(at path: FolderPath, below root: FileIdentity) {
    drop { entries in
      let isMeant = { (entry: Entry) in
        if case .below(root, let other) = entry.key { path.holds(other.bytes) } else { false }
      }
      defer { entries.removeAll(where: isMeant) }
      return entries.filter(isMeant)
    }
  }

  /// Closes all of them; they are opened again when needed.
  func closeAll() {
    drop { entries in
      defer { entries = [] }
      return entries
    }
  }

  // MARK: Anchors

  /// The open anchor next below another one, and how many levels lower it is.
  func folder(below anchor: FolderAnchor) -> (folder: OpenFolder, height: Int)? {
    entries.withLock { entries in
      for entry in entries.reversed() {
        switch entry.key {
        case .anchor(_, let depth, ObjectIdentifier(anchor)), .left(let depth, ObjectIdentifier(anchor)):
          return (entry.folder, depth - anchor.depth)
        default: continue
        }
      }
      return nil
    }
  }

  /// Marks an anchor as one that the walk has left.
  func leave(_ anchor: FolderAnchor) {
    let key = anchor.key
    drop { entries in
      // The anchors below it lead to no other anchor.
      let isBelow = { (entry: Entry) in
        if case .left(_, ObjectIdentifier(anchor)) = entry.key { true } else { false }
      }
      var dropped = entries.filter(isBelow)
      entries.removeAll(where: isBelow)
      if let index = entries.lastIndex(where: { $0.key == key }) {
        if case .anchor(_, let depth, let outer?) = key {
          entries[index].key = .left(depth: depth, outer: outer)
        } else {
          dropped.append(entries.remove(at: index))
        }
      }
      return dropped
    }
  }

  /// - Parameter change: returns the folders that are no longer held.
  private func drop(_ change: (inout [Entry]) -> [Entry]) {
    // The folders close outside the lock.
    let dropped = entries.withLock { change(&$0) }
    _ = consume dropped
  }
}

/// The path of a folder, which shares its bytes with the paths below it: 10,000 nested folders have paths of 100 MB.
package struct FolderPath: Equatable, Sendable {
  package let bytes: ArraySlice<UInt8>

  package init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
  }

  /// Whether another path is this one or is below it.
  package func holds(_ path: ArraySlice<UInt8>) -> Bool {
    guard path.count >= bytes.count else { return false }
    let end = path.startIndex + bytes.count
    guard end == path.endIndex || path[end] == UInt8(ascii: "/") else { return false }
    return FolderPath(path[..<end]) == self
  }

  package static func == (left: FolderPath, right: FolderPath) -> Bool {
    guard left.bytes.count == right.bytes.count else { return false }
    return left.bytes.withUnsafeBytes { first in
      right.bytes.withUnsafeBytes { second in
        guard let start = first.baseAddress, let other = second.baseAddress else { return true }
        return memcmp(start, other, first.count) == 0
      }
    }
  }
}
