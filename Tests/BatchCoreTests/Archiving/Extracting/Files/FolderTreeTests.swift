import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Paths of folders as a tree")
struct FolderTreeTests {
  private func insert(_ path: String, in tree: inout FolderTree) -> FolderTree.Node {
    tree.insert(Array(path.utf8)[...])
  }

  @Test("each get one number, in any order of insertion, and are found by it")
  func numbers() {
    var numbers = SeededNumbers(seed: 7)
    var tree = FolderTree()
    var known: [String: FolderTree.Node] = ["": FolderTree.root]
    for _ in 0..<3000 {
      let names = (0..<Int.random(in: 0...6, using: &numbers)).map { _ in
        ["a", "b", "ab", "a-", "."].randomElement(using: &numbers) ?? "a"
      }
      let path = names.joined(separator: "/")
      let node = insert(path, in: &tree)
      #expect(known[path] ?? node == node)
      known[path] = node
      #expect(tree.path(of: node) == Array(path.utf8))
      #expect(tree.find(Array(path.utf8)[...]) == node)
    }
    #expect(tree.find(Array("a/none".utf8)[...]) == nil)
    #expect(Set(known.values).count == known.count)
  }

  @Test("can be given as a slice of a longer path")
  func slices() {
    var tree = FolderTree()
    let bytes = Array("x/one/two/three".utf8)
    let inner = tree.insert(bytes[2...])
    #expect(tree.path(of: inner) == Array("one/two/three".utf8))
    #expect(tree.insert(bytes[2..<9]) == tree.parent(of: inner))
    #expect(tree.wayOfLast.map(\.end) == [3, 7])
  }

  @Test("give their children in groups, from the last name to the first")
  func children() {
    var tree = FolderTree()
    for path in ["b/x", "a", "c", "b/y/z", "b/w"] { _ = insert(path, in: &tree) }
    let (nodes, groups) = tree.children()
    func names(_ path: String) -> [String] {
      let node = tree.find(Array(path.utf8)[...]) ?? -1
      return nodes[groups[Int(node)]].map { String(decoding: tree.name(of: $0), as: UTF8.self) }
    }
    #expect(names("") == ["c", "b", "a"] && names("b") == ["y", "x", "w"] && names("b/y") == ["z"])
    #expect(names("a").isEmpty && nodes.count == 7)
    #expect(FolderTree().children().nodes.isEmpty)
  }

  @Test("count as made only at the ends that were named")
  func made() {
    var made = MadeFolders()
    made.insert(Array("a/b/c".utf8)[...], ends: [(3, .hidden), (5, .final)])
    func contains(_ path: String) -> Bool { made.contains(Array(path.utf8)[...]) }
    #expect(!contains("a") && contains("a/b") && contains("a/b/c") && !contains("x"))
    made.remove(Array("a/b".utf8)[...])
    #expect(!contains("a/b") && contains("a/b/c"))
  }
}
