import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(5))) struct FolderAnchorTests {
  /// Makes the calls of the kernel and counts the names that these have to resolve.
  private final class CountingCalls: FileSystemCalls {
    private let kernel = LinuxCalls()
    let names = Atomic<Int>(0)

    func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
      let bytes = UnsafeRawBufferPointer(start: path, count: strlen(path))
      names.add(1 + bytes.count { $0 == UInt8(ascii: "/") }, ordering: .relaxed)
      return kernel.open(path, at: directory, flags: flags)
    }

    func status(of descriptor: Int32, into status: inout stat) -> Int32 {
      kernel.status(of: descriptor, into: &status)
    }

    func status(
      of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
    ) -> Int32 {
      kernel.status(of: path, at: directory, followingLinks: followingLinks, into: &status)
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      kernel.read(descriptor, into: buffer)
    }

    func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
      kernel.readEntries(descriptor, into: buffer)
    }
  }

  private let fixture: TreeFixture

  init() throws { fixture = try TreeFixture() }

  /// Makes nested folders `d`. Each also holds a folder `z` with a file, which a walk reaches on its way back
  /// up.
  private func comb(_ top: PathBytes, depth: Int) throws {
    try fixture.folder(top)
    var current = fixture.path(top).withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { close(current) }
    for level in 0..<depth {
      try #require(mkdirat(current, "d", 0o755) == 0 && mkdirat(current, "z", 0o755) == 0)
      let file = openat(current, "z/file\(level)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
      try #require(file >= 0)
      close(file)
      let next = openat(current, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      try #require(next >= 0)
      close(current)
      current = next
    }
  }

  private func walker(
    _ top: PathBytes, anchors: Int, calls: any FileSystemCalls = LinuxCalls(), readAhead: Int = 0
  ) -> TreeWalker {
    var options = WalkOptions()
    options.readAhead = readAhead
    return TreeWalker(
      operands: [fixture.path(top)], options: options, descriptors: DescriptorBudget(capacity: anchors * 4),
      calls: calls)
  }

  @Test(
    "opening resolves names in proportion to the depth, with few and with many open anchors",
    arguments: [1, 2, 16], [0, 4])
  func isLinear(anchors: Int, readAhead: Int) throws {
    var counts = [Int]()
    for depth in [400, 800] {
      let top = PathBytes("t\(depth)")
      try comb(top, depth: depth)
      let calls = CountingCalls()
      let reader = FileReader(calls: calls)
      var walker = walker(top, anchors: anchors, calls: calls, readAhead: readAhead)
      var found = [String]()
      while let item = walker.next() {
        guard case .item(.file(let record)) = item else { return #expect(Bool(false), "\(item)") }
        _ = try reader.withFile(record) { (_, _) throws(BatchError) in }
        reader.closeFolder()
        found.append(record.path.description)
      }
      let path = fixture.path(top).description
      #expect(
        found
          == (0..<depth).reversed().map { level in
            path + "/" + String(repeating: "d/", count: level) + "z/file\(level)"
          })
      counts.append(calls.names.load(ordering: .relaxed))
    }
    // With reading ahead, some names are resolved twice, depending on the speed of the threads. A quadratic
    // cost would give 4.
    #expect(Double(counts[1]) / Double(counts[0]) < (readAhead == 0 ? 2.3 : 3), "\(counts)")
  }

  @Test func keepsNoMoreOpenThanWasSetApartAndNothingAfterTheWalk() throws {
    try comb("t", depth: 300)
    do {
      var walker = walker("t", anchors: 2)
      var most = 0
      while walker.next() != nil { most = max(most, fixture.openDescriptors) }
      #expect((1...2).contains(most))
    }
    #expect(fixture.openDescriptors == 0)
  }

  @Test(
    "a folder above that was swapped for a link is not followed out of the tree", arguments: [1, 40, 70, 99])
  func staysInTheTree(level: Int) throws {
    let outside = try TreeFixture()
    try outside.file("secret", "text")
    try comb("t", depth: 100)
    let reader = FileReader(calls: LinuxCalls())
    var walker = walker("t", anchors: 1)
    // The folders below are listed; the files on the way back are not yet walked.
    _ = walker.next()
    let swapped = PathBytes("t" + String(repeating: "/d", count: level))
    try fixture.rename(swapped, to: "aside")
    try fixture.symbolicLink(swapped, to: outside.root)
    while let item = walker.next() {
      guard case .item(.file(let record)) = item else { continue }
      #expect(record.path.lastComponent.starts(with: "file".utf8))
      _ = try? reader.withFile(record) { (_, status) throws(BatchError) in
        #expect(status.identity == record.status.identity)
      }
    }
  }

  @Test func continuesWhenAnAnchorWasReplaced() throws {
    try comb("t", depth: 100)
    var walker = walker("t", anchors: 1)
    _ = walker.next()
    // All anchors belong to a tree that was removed; a new tree has its names.
    try fixture.rename("t", to: "aside")
    try comb("t", depth: 100)
    try fixture.removeTree("aside")
    var count = 1
    while case .item(.file)? = walker.next() { count += 1 }
    #expect(count == 100)
  }

  @Test func sharesThePathOfItsAncestors() throws {
    let pool = HeldFolders(limit: 1)
    let entry = DirectoryEntry(nameOffset: 0, kind: .directory, inode: 1)
    let names = NameArena(name: "name".utf8)
    var directory = DirectoryPath(operand: "operand")
    var expected = "operand/"
    // It is released without a recursion as deep as the tree.
    for _ in 0..<200_000 {
      directory = directory.subdirectory(of: entry, names: names, device: 1).anchored(in: pool)
      #expect(directory.tail.count < 2 * FolderAnchor.pathLength)
    }
    expected += String(repeating: "name/", count: 200_000)
    #expect(directory.prefix == PathBytes(expected))
    #expect(directory.relativePrefix.count == 5 * 200_000)
    #expect(directory.shownPath.bytes.count == expected.utf8.count - 1)
  }
}
