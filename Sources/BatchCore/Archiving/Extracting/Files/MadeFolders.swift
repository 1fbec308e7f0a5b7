import BatchEngine

/// The folders that a run created.
struct MadeFolders: Sendable {
  private(set) var tree = FolderTree()
  private(set) var nodes: Set<FolderTree.Node> = []

  /// - Parameter ends: the offsets in this path at which the paths of created folders end, ascending.
  mutating func insert(_ path: ArraySlice<UInt8>, ends: [Int]) {
    _ = tree.insert(path)
    var ends = ends[...]
    for (end, node) in tree.wayOfLast where end == ends.first {
      nodes.insert(node)
      ends = ends.dropFirst()
    }
  }

  mutating func remove(_ path: ArraySlice<UInt8>) {
    if let node = tree.find(path) { nodes.remove(node) }
  }

  func contains(_ path: ArraySlice<UInt8>) -> Bool {
    tree.find(path).map { nodes.contains($0) } ?? false
  }
}
