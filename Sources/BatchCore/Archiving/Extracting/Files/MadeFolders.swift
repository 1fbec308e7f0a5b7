import BatchEngine

/// The folders that a run created.
struct MadeFolders: Sendable {
  private(set) var tree = FolderTree()
  /// By node; nil for a folder that existed.
  private var states: [MadeFolder?] = []

  var nodes: [FolderTree.Node] {
    states.indices.lazy.filter { states[$0] != nil }.map { FolderTree.Node(truncatingIfNeeded: $0) }
  }

  /// - Parameter ends: the offsets in this path at which the paths of created folders end, ascending.
  mutating func insert(_ path: ArraySlice<UInt8>, ends: [(end: Int, state: MadeFolder)]) {
    _ = tree.insert(path)
    var ends = ends[...]
    for (end, node) in tree.wayOfLast where end == ends.first?.end {
      if let state = ends.popFirst()?.state { set(state, of: node) }
    }
  }

  /// Adds a created folder in a folder that may have existed.
  ///
  /// - Returns: the parent.
  mutating func insert(
    _ name: [UInt8], _ state: MadeFolder, in parent: FolderTree.Node?, _ path: ArraySlice<UInt8>
  ) -> FolderTree.Node {
    let parent = parent ?? tree.insert(path)
    set(state, of: tree.insert(name, in: parent))
    return parent
  }

  mutating func set(_ state: MadeFolder?, of node: FolderTree.Node) {
    while states.count <= Int(node) { states.append(nil) }
    states[Int(node)] = state
  }

  mutating func remove(_ path: ArraySlice<UInt8>) {
    if let node = tree.find(path) { set(nil, of: node) }
  }

  func state(of node: FolderTree.Node) -> MadeFolder? {
    states.indices.contains(Int(node)) ? states[Int(node)] : nil
  }

  func contains(_ path: ArraySlice<UInt8>) -> Bool {
    tree.find(path).flatMap { state(of: $0) } != nil
  }
}
