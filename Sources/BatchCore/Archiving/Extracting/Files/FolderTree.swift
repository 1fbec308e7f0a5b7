import BatchEngine

/// Folder paths that are stored as a tree, each folder as its name and its parent: 4,000 nested folders have 4,000 names, but
/// paths of many megabytes.
///
/// A look-up compares the path with the previous one, and then takes time only for the part that differs.
struct FolderTree: Sendable {
  typealias Node = Int32

  /// The folder in which all paths begin.
  static let root: Node = 0
  private static let slash = UInt8(ascii: "/")

  private struct Folder: Hashable {
    let parent: Node
    let name: [UInt8]
  }

  private var folders = [Folder(parent: -1, name: [])]
  private var nodes: [Folder: Node] = [:]
  /// The last path, and the offsets where its folders end.
  private var last: [UInt8] = []
  private var way: [(end: Int, node: Node)] = []

  var count: Int { folders.count }

  func parent(of node: Node) -> Node { folders[Int(node)].parent }

  func name(of node: Node) -> [UInt8] { folders[Int(node)].name }

  /// The names from the root to a folder, with slashes between them.
  func path(of node: Node) -> [UInt8] {
    var names = [Node]()
    var current = node
    while current != Self.root {
      names.append(current)
      current = parent(of: current)
    }
    var path = [UInt8]()
    for node in names.reversed() {
      if !path.isEmpty { path.append(Self.slash) }
      path += name(of: node)
    }
    return path
  }

  /// The folder with a path, which is added if unknown.
  mutating func insert(_ path: ArraySlice<UInt8>) -> Node {
    var node = takeWay(of: path)
    var start = way.last.map { path.startIndex + $0.end + 1 } ?? path.startIndex
    while start < path.endIndex {
      let end = path[start...].firstIndex(of: Self.slash) ?? path.endIndex
      node = insert(Array(path[start..<end]), in: node)
      way.append((end - path.startIndex, node))
      start = end + 1
    }
    last = Array(path)
    return node
  }

  /// The folder with a name in another one, which is added if unknown.
  mutating func insert(_ name: [UInt8], in parent: Node) -> Node {
    let folder = Folder(parent: parent, name: name)
    if let node = nodes[folder] { return node }
    let node = Node(truncatingIfNeeded: folders.count)
    folders.append(folder)
    nodes[folder] = node
    return node
  }

  /// The folders along the path that was inserted last, and the offsets where they end.
  var wayOfLast: [(end: Int, node: Node)] { way }

  func find(_ path: ArraySlice<UInt8>) -> Node? {
    var node = Self.root
    var start = path.startIndex
    while start < path.endIndex {
      let end = path[start...].firstIndex(of: Self.slash) ?? path.endIndex
      guard let next = find(Array(path[start..<end]), in: node) else { return nil }
      node = next
      start = end + 1
    }
    return node
  }

  func find(_ name: [UInt8], in parent: Node) -> Node? { nodes[Folder(parent: parent, name: name)] }

  /// All folders except the root, grouped by parent, from the last name to the first.
  ///
  /// - Returns: the folders, and the range of each folder's group among them.
  func children() -> (nodes: [Node], groups: [Range<Int>]) {
    let nodes = (1..<max(1, folders.count)).map { Node(truncatingIfNeeded: $0) }.sorted { left, right in
      let (first, second) = (folders[Int(left)], folders[Int(right)])
      if first.parent != second.parent { return first.parent < second.parent }
      return second.name.lexicographicallyPrecedes(first.name)
    }
    var groups = [Range<Int>](repeating: 0..<0, count: folders.count)
    var start = 0
    for end in 1...max(1, nodes.count) where !nodes.isEmpty {
      if end < nodes.count, parent(of: nodes[end]) == parent(of: nodes[start]) { continue }
      groups[Int(parent(of: nodes[start]))] = start..<end
      start = end
    }
    return (nodes, groups)
  }

  /// Keeps the part of the last path that a new path shares with it.
  ///
  /// - Returns: the folder at which they diverge.
  private mutating func takeWay(of path: ArraySlice<UInt8>) -> Node {
    let shared = last.withUnsafeBufferPointer { old in
      path.withUnsafeBufferPointer { new in
        var count = 0
        while count < min(old.count, new.count), old[count] == new[count] { count += 1 }
        return count
      }
    }
    while let (end, _) = way.last {
      if end < shared || end == shared && (end == path.count || path[path.startIndex + end] == Self.slash) {
        break
      }
      way.removeLast()
    }
    return way.last?.node ?? Self.root
  }
}
