import Glibc
import Synchronization
import TestSupport
import Testing

@testable import BatchEngine

@Suite(.timeLimit(.minutes(3))) struct TreeWalkerTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()

  init() throws { fixture = try TreeFixture() }

  private func walker(
    _ operands: [PathBytes], descriptors: Int = 64, _ change: (inout WalkOptions) -> Void = { _ in }
  ) -> TreeWalker {
    var options = WalkOptions()
    change(&options)
    return TreeWalker(
      operands: operands, options: options, descriptors: DescriptorBudget(capacity: descriptors), calls: calls
    )
  }

  /// The results of a walk: paths of files, and problems as "event path errno", relative to the fixture.
  private func walk(
    _ operands: [PathBytes]? = nil, descriptors: Int = 64, _ change: (inout WalkOptions) -> Void = { _ in }
  ) -> [String] {
    var walker = walker(operands ?? [fixture.root], descriptors: descriptors, change)
    var found = [String]()
    while let item = walker.next() { found.append(text(item)) }
    // As at the end of a run: a read-ahead queue may still hold the walk for a moment.
    walker.descriptors.heldFolders.closeAll()
    return found
  }

  private func text(_ item: Walked) -> String {
    switch item {
    case .item(.file(let record)): relative(record.path)
    case .item(.standardInput): "standard input"
    case .problem(let problem):
      "\(problem.event) \(relative(problem.error.path ?? "none")) \(problem.error.errno)"
    }
  }

  private func relative(_ path: PathBytes) -> String {
    guard path.bytes.starts(with: fixture.root.bytes) else { return path.description }
    return String(decoding: path.bytes.dropFirst(fixture.root.bytes.count + 1), as: UTF8.self)
  }

  // MARK: Order

  @Test func yieldsTheFilesOfAFolderBeforeItsFolders() throws {
    for path in ["b", "a/z", "a/b/c", "a/B", "a.d/x", "A", "z/y", "a-file", "ab"] {
      try fixture.file(PathBytes(path), "")
    }
    #expect(walk() == ["A", "a-file", "ab", "b", "a/B", "a/z", "a/b/c", "a.d/x", "z/y"])
  }

  @Test func keepsEveryByteOfAName() throws {
    for byte in UInt8(1)...255 where byte != 0x2f && byte != 0x2e { try fixture.file(PathBytes([byte]), "") }
    var walker = walker([fixture.root])
    var names = [UInt8]()
    while case .item(.file(let record))? = walker.next() { names += record.path.lastComponent }
    #expect(names == (UInt8(1)...255).filter { $0 != 0x2f && $0 != 0x2e })
  }

  @Test(arguments: 0..<3 as Range<UInt64>) func hasOneOrderHoweverFarItReadsAhead(seed: UInt64) throws {
    var numbers = SeededNumbers(seed: seed)
    for _ in 0..<300 {
      let depth = Int.random(in: 1...6, using: &numbers)
      let names = (0..<depth).map { _ in "\(Int.random(in: 0...4, using: &numbers))" }
      try fixture.file(
        PathBytes(names.joined(separator: "/") + "/f\(Int.random(in: 0...3, using: &numbers))"), "")
    }
    let alone = walk { $0.readAhead = 0 }
    #expect(alone.count > 100)
    for width in [1, 4, 8] { #expect(walk { $0.readAhead = width } == alone) }
    #expect(walk(descriptors: 2) { $0.readAhead = 8 } == alone)
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [4096, 4097, 20_000]) func goesThroughAFolderOfAnySize(count: Int) throws {
    let names = (0..<count).map { "entry\($0)" }
    try fixture.emptyFiles(names, in: "big")
    try fixture.file("big/sub/last", "")
    let expected = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { "big/\($0)" }
    #expect(walk() == expected + ["big/sub/last"])
    #expect(fixture.openDescriptors == 0)
  }

  @Test func yieldsNothingForAnEmptyFolder() throws {
    try fixture.folder("a/b/c")
    #expect(walk().isEmpty)
    #expect(walk([]).isEmpty)
  }

  @Test func endsForGood() throws {
    try fixture.file("a", "")
    var walker = walker([fixture.root])
    #expect(walker.next() != nil)
    #expect(walker.next() == nil)
    #expect(walker.next() == nil)
  }

  // MARK: Operands

  @Test func takesEachKindOfOperand() throws {
    try fixture.file("folder/file", "text")
    try fixture.symbolicLink("to-folder", to: "folder")
    try fixture.symbolicLink("to-file", to: "folder/file")
    try fixture.symbolicLink("dangling", to: "nowhere")
    try fixture.symbolicLink("loop", to: "loop")
    try fixture.fifo("fifo")
    let operands = [
      "folder/file", "folder", "folder//", "to-folder", "to-folder/", "to-file", "dangling", "loop",
      "fifo", "none", "folder/file/below",
    ]
    let paths = operands.map { fixture.path(PathBytes($0)) }
    #expect(
      walk(paths) == [
        "folder/file", "folder/file", "folder//file", "to-folder/file", "to-folder/file", "to-file",
        "missing dangling 2", "unreadable loop \(ELOOP)", "unreadable fifo 0", "missing none 2",
        "unreadable folder/file/below \(ENOTDIR)",
      ])
  }

  @Test func takesOperandsThatAreInvalidPaths() throws {
    #expect(walk(["-", "", "a\u{0}b"]) == ["standard input", "missing  0", "missing a\u{0}b 0"])
  }

  @Test func readsAnOperandOnlyWhenItGetsThere() throws {
    try fixture.file("a/1", "")
    try fixture.file("b/2", "")
    let asked = Mutex(0)
    let paths = ["a", "b"].map { fixture.path(PathBytes($0)) }
    var walker = TreeWalker(
      operands: paths.lazy.map { path in
        asked.withLock { $0 += 1 }
        return path
      }, options: WalkOptions(), descriptors: DescriptorBudget(capacity: 8), calls: calls)
    _ = walker.next()
    #expect(asked.withLock { $0 } == 1)
    _ = walker.next()
    #expect(asked.withLock { $0 } == 2)
  }

  @Test func yieldsOverlappingOperandsEachTime() throws {
    try fixture.file("a/b", "")
    #expect(walk([fixture.root, fixture.path("a"), fixture.root]) == ["a/b", "a/b", "a/b"])
  }

  // MARK: Links

  @Test func neverFollowsLinksBelowAnOperand() throws {
    try fixture.file("folder/file", "")
    try fixture.symbolicLink("link", to: "folder")
    try fixture.symbolicLink("up", to: "..")
    #expect(walk() == ["special link 0", "special up 0", "folder/file"])
  }

  @Test func reportsAFolderThatLeadsBackOnce() throws {
    try fixture.file("a/b/file", "")
    try fixture.symbolicLink("a/b/up", to: "../..")
    try fixture.symbolicLink("a/self", to: ".")
    try fixture.symbolicLink("a/twin", to: "b")
    #expect(
      walk { $0.followsLinks = true } == [
        "a/b/file", "unreadable a/b/up \(ELOOP)", "unreadable a/self \(ELOOP)", "a/twin/file",
        "unreadable a/twin/up \(ELOOP)",
      ])
  }

  // MARK: Depth

  @Test func goesBelowTheLongestPathWithTwoDescriptors() throws {
    // The path has twice as many bytes as levels, which is more than PATH_MAX.
    let depth = 2100
    try fixture.chain(of: "n", depth: depth, leaf: "leaf")
    let found = walk(descriptors: 2) {
      $0.readAhead = 8
      $0.limits = PathLimits(levels: 3000)
    }
    #expect(found.count == 1)
    #expect(found.first?.utf8.count == depth * 2 + 4)
    #expect(fixture.openDescriptors == 0)
  }

  @Test func readsFilesBeyondTheLongestPath() async throws {
    let name = PathBytes([UInt8](repeating: 0x64, count: 200))
    try fixture.chain(of: name, depth: 40, leaf: "leaf")
    let found = walk()
    #expect(found.count == 1)
    #expect(found.first?.hasSuffix("/leaf") == true)
    let root = fixture.root
    let runner = BatchRunner()
    let job = ReadingJob()
    let summary = try await onThread { runner.run(job, over: runner.tree([root])) }
    #expect(summary.counts.done == 1)
    #expect(job.lines.values.first?.hasSuffix("/leaf \(Checksum())") == true)
    #expect(fixture.openDescriptors == 0)
  }

  // MARK: Faults

  @Test func continuesAfterAFolderThatVanished() throws {
    for name in ["a", "b", "c"] { try fixture.file(PathBytes("\(name)/file"), "") }
    calls.on(.open, "b", .before { [fixture] in try? fixture.removeTree("b") })
    #expect(walk() == ["a/file", "vanished b 2", "c/file"])
    #expect(fixture.openDescriptors == 0)
  }

  @Test func continuesAfterAFolderThatCannotBeListed() throws {
    for name in ["a", "b", "c"] { try fixture.file(PathBytes("\(name)/file"), "") }
    calls.on(.readEntries, "b", turns: 2...2, .fail(EIO))
    #expect(walk() == ["a/file", "b/file", "unreadable b \(EIO)", "c/file"])
  }

  @Test func neverLeavesTheTreeThroughASwappedFolder() throws {
    let outside = try TreeFixture()
    try outside.file("secret", "")
    try fixture.file("a/file", "")
    try fixture.file("b/file", "")
    let target = outside.root
    calls.on(
      .open, "b", turns: 1...1,
      .before { [fixture] in
        try? fixture.rename("b", to: "aside")
        try? fixture.symbolicLink("b", to: target)
      })
    #expect(walk { $0.readAhead = 0 } == ["a/file", "vanished b \(ENOTDIR)"])
  }

  @Test func neverLeavesTheTreeThroughAFolderSwappedAbove() throws {
    let outside = try TreeFixture()
    try outside.file("inner/secret", "")
    try fixture.file("b/inner/file", "")
    let target = outside.root
    calls.on(
      .open, "inner", turns: 1...1,
      .before { [fixture] in
        try? fixture.rename("b", to: "aside")
        try? fixture.symbolicLink("b", to: target)
      })
    #expect(walk { $0.readAhead = 0 } == ["vanished b/inner \(ENOTDIR)"])
    #expect(outside.openDescriptors == 0)
  }

  // MARK: One file system

  @Test(arguments: [0, 4]) func staysOnTheFileSystemOfItsOperand(readAhead: Int) throws {
    for name in ["a", "mount", "z"] { try fixture.file(PathBytes("\(name)/file"), "") }
    calls.on(.status, "mount", .status { $0.st_dev += 1 })
    let found = walk {
      $0.staysOnFileSystem = true
      $0.readAhead = readAhead
    }
    #expect(found == ["a/file", "z/file"])
    #expect(walk { $0.readAhead = readAhead } == ["a/file", "mount/file", "z/file"])
  }

  @Test func takesTheFileSystemOfEachOperand() throws {
    for name in ["a", "mount"] { try fixture.file(PathBytes("\(name)/file"), "") }
    calls.on(.status, "mount", .status { $0.st_dev += 1 })
    let operands = [fixture.path("mount"), fixture.path("a")]
    #expect(walk(operands) { $0.staysOnFileSystem = true } == ["mount/file", "a/file"])
  }

  // MARK: Ends

  @Test func leavesNothingOpenWhenItIsDropped() throws {
    for number in 0..<100 { try fixture.file(PathBytes("\(number)/\(number)/file"), "") }
    do {
      var walker = walker([fixture.root]) { $0.readAhead = 0 }
      for _ in 0..<10 { _ = walker.next() }
    }
    #expect(fixture.openDescriptors == 0)
  }
}
