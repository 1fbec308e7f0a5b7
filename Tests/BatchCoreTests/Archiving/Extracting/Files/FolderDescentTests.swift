import Dispatch
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Visiting the folders of an extraction")
struct FolderDescentTests {
  private let temporary: TreeFixture
  private let folder: ContainedFolder
  private let calls = FaultyCalls()

  init() throws {
    temporary = try TreeFixture()
    folder = try ContainedFolder(temporary.root, opener: FolderOpener(calls: LinuxCalls()))
  }

  private func tree(_ paths: [String]) throws -> FolderTree {
    var tree = FolderTree()
    for path in paths {
      _ = try folder.open(Array(path.utf8)[...], creating: true)
      _ = tree.insert(Array(path.utf8)[...])
    }
    return tree
  }

  /// Calls a function for each number below a count, in as many lanes as given.
  private static func strides<Value: Sendable>(
    _ count: Int, on threads: Int, _ body: @Sendable (Int) -> [Value]
  ) -> [[Value]] {
    let parts = Mutex<[Int: [Value]]>([:])
    DispatchQueue.concurrentPerform(iterations: threads) { lane in
      for number in stride(from: lane, to: count, by: threads) {
        let part = body(number)
        parts.withLock { $0[number] = part }
      }
    }
    let all = parts.withLock { $0 }
    return (0..<count).compactMap { all[$0] }
  }

  /// All folders except the target, each before those in it.
  private func paths(_ tree: FolderTree) -> [PathBytes] {
    (1..<FolderTree.Node(tree.count)).map { PathBytes(tree.path(of: $0)) }
  }

  /// The visited folders, with the error number if a folder cannot be opened.
  private func visits(_ tree: FolderTree, holding open: Int) throws -> [String] {
    var visits = [String]()
    try FolderDescent(tree, below: folder.root, holding: open, opener: FolderOpener(calls: calls)).visit {
      (visit) throws(BatchError) in
      let path = String(decoding: tree.path(of: visit.node), as: UTF8.self)
      switch visit.folder {
      case .success(let opened):
        var (mine, there) = (stat(), stat())
        let place = path.isEmpty ? temporary.root : temporary.path(PathBytes(path))
        let isSame =
          fstat(opened.raw, &mine) == 0
          && (path.utf8.count > 3000 || place.withCString { lstat($0, &there) } == 0)
        visits.append(isSame && (path.utf8.count > 3000 || mine.st_ino == there.st_ino) ? path : "wrong")
      case .failure(let error): visits.append("\(path) \(error.errno)")
      }
    }
    return visits
  }

  @Test("visits each folder after all folders in it", arguments: [0, 2, 3, 16])
  func order(open: Int) throws {
    let tree = try tree(["a/b/c/d/e", "a/b/x/y", "z", "a/b/c/f"])
    #expect(
      try visits(tree, holding: open) == [
        "z", "a/b/x/y", "a/b/x", "a/b/c/f", "a/b/c/d/e", "a/b/c/d", "a/b/c", "a/b", "a", "",
      ])
    #expect(temporary.openDescriptors == 1)
  }

  @Test(
    "visits the folders on several threads in the same order, each after all folders in it",
    arguments: [1, 2, 7, 32], [16, 64, 256])
  func threads(lanes: Int, open: Int) throws {
    let paths = (0..<40).flatMap { outer in (0..<8).map { "only/one/\(outer)/\($0)/x" } }
    let tree = try tree(paths + ["only/one/deep/a/b/c/d/e/f/g/h/i/j/k"])
    let descent = FolderDescent(
      tree, below: folder.root, holding: open, opener: FolderOpener(calls: LinuxCalls()))
    let children = Dictionary(grouping: 0..<FolderTree.Node(tree.count)) { tree.parent(of: $0) }
    let finished = Mutex<Set<FolderTree.Node>>([])
    var threads = 0
    var found: [String] = []
    try descent.visit { (count, least, body) in
      let width = min(lanes, count / least)
      threads = width
      return Self.strides(count, on: width, body)
    } _: { visit in
      let isLast = finished.withLock { finished in
        finished.insert(visit.node)
        return finished.isSuperset(of: children[visit.node] ?? [])
      }
      guard case .success(let opened) = visit.folder, isLast else { return (visit.node, false) }
      let place = temporary.root.appending(tree.path(of: visit.node))
      let status = try? place.status()
      return (visit.node, status?.identity == opened.identity)
    } then: { (node, isRight) throws(BatchError) in
      found.append(isRight ? String(decoding: tree.path(of: node), as: UTF8.self) : "wrong")
    }
    #expect(threads == (open == 16 ? 0 : min(lanes, 6)))
    #expect(try found == visits(tree, holding: open) && found.count == tree.count)
    #expect(temporary.openDescriptors == 1)
  }

  @Test("meets the same faults on several threads", arguments: [1, 2, 7])
  func faultsOnThreads(lanes: Int) throws {
    let tree = try tree((0..<40).flatMap { outer in (0..<8).map { "only/\(outer)/\($0)" } })
    let (place, aside) = (temporary.path("only/7"), temporary.path("aside"))
    #expect(place.withCString { old in aside.withCString { rename(old, $0) } } == 0)
    #expect(place.withCString { symlink("../aside", $0) } == 0)
    calls.on(.open, "9", .fail(EACCES))
    let find = { @Sendable (visit: FolderDescent.Visit) -> String in
      let path = String(decoding: tree.path(of: visit.node), as: UTF8.self)
      // Nothing below can be entered any more, as in a folder that gets its mode too early.
      guard case .success(let opened) = visit.folder else { return "\(path) cannot be entered" }
      return fchmod(opened.raw, 0) == 0 ? path : "wrong"
    }
    let descent = { FolderDescent(tree, below: folder.root, holding: 64, opener: FolderOpener(calls: calls)) }
    var (expected, found) = ([String](), [String]())
    try descent().visit { (visit) throws(BatchError) in expected.append(find(visit)) }
    for path in paths(tree) { _ = temporary.path(path).withCString { chmod($0, 0o700) } }
    try descent().visit { (count, _, body) in
      Self.strides(count, on: lanes, body)
    } _: { visit in
      find(visit)
    } then: { (text) throws(BatchError) in
      found.append(text)
    }
    #expect(found == expected && found.count == tree.count)
    #expect(found.contains("only/7 cannot be entered") && found.contains("only/7/3 cannot be entered"))
    #expect(found.contains("only/20/3"))
    for path in paths(tree) { _ = temporary.path(path).withCString { chmod($0, 0o700) } }
  }

  @Test("takes as many calls for each of 1,000 levels as for each of 100", arguments: [0, 16])
  func isLinear(open: Int) throws {
    let path = Array(repeating: "d", count: 1000).joined(separator: "/")
    let tree = try tree([path])
    #expect(try visits(tree, holding: open).count == 1001)
    #expect(calls.count(of: .open, "d") == 1000)
    // Each folder is left once through `..`, and none is opened again from the root.
    #expect(calls.count(of: .open, "..") <= 1000 && calls.count(of: .open, ".") <= 1001)
  }

  @Test(
    "opens a folder that was moved from the target again, and does not enter another one in its place"
  )
  func moved() throws {
    let tree = try tree(["a/b/c/d"])
    let (inside, aside) = (temporary.path("a/b/c"), temporary.path("aside"))
    // A folder is moved just before the visit leaves it, so its `..` is another folder from then on.
    calls.on(
      .open, "..", turns: 1...1,
      .before {
        _ = inside.withCString { old in aside.withCString { rename(old, $0) } }
      })
    #expect(try visits(tree, holding: 2).suffix(4) == ["wrong", "a/b", "a", ""])
  }

  @Test("enters a folder that may be searched and not read, which itself cannot be described")
  func unreadable() throws {
    let tree = try tree(["a/b/c"])
    calls.on(.open, "b", turns: 1...1, .fail(EACCES))
    #expect(try visits(tree, holding: 16) == ["a/b/c", "a/b \(EACCES)", "a", ""])
  }

  @Test("refuses a link in the place of a folder, with everything below it")
  func link() throws {
    let tree = try tree(["a/b/c"])
    try temporary.folder("elsewhere/c")
    let (place, aside) = (temporary.path("a/b"), temporary.path("aside"))
    #expect(place.withCString { old in aside.withCString { rename(old, $0) } } == 0)
    #expect(place.withCString { symlink("../elsewhere", $0) } == 0)
    let found = try visits(tree, holding: 16)
    #expect(found.count == 4 && found[0].hasPrefix("a/b/c ") && found[1].hasPrefix("a/b "), "\(found)")
    #expect(found[2...] == ["a", ""])
  }
}
