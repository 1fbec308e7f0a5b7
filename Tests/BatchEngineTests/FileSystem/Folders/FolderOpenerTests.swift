import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct FolderOpenerTests {
  private let fixture: TreeFixture
  private let calls = FaultyCalls()
  private var opener: FolderOpener { FolderOpener(calls: calls) }

  init() throws { fixture = try TreeFixture() }

  private func inode(_ descriptor: borrowing Descriptor) throws -> FileIdentity {
    try LinuxCalls().status(of: descriptor).identity
  }

  /// The error number with which opening fails, or 0.
  private func failure(_ path: PathBytes, followingLast: Bool = false) -> Int32 {
    do throws(BatchError) {
      _ = try opener.open(path, followingLast: followingLast)
      return 0
    } catch {
      return error.errno
    }
  }

  @Test func followsTheLastLinkOnlyWhenAsked() throws {
    try fixture.folder("folder")
    try fixture.symbolicLink("link", to: "folder")
    #expect(failure(fixture.path("folder")) == 0)
    #expect(failure(fixture.path("link")) == ENOTDIR)
    #expect(failure(fixture.path("link"), followingLast: true) == 0)
    #expect(fixture.openDescriptors == 0)
  }

  @Test func throwsTheReasonWhenAFolderCannotBeOpened() throws {
    try fixture.file("file", "")
    #expect(failure(fixture.path("file")) == ENOTDIR)
    #expect(failure(fixture.path("none")) == ENOENT)
    #expect(
      failure(PathBytes(fixture.root.bytes + [0x2f] + [UInt8](repeating: 0x61, count: 300))) == ENAMETOOLONG)
  }

  @Test func opensPathsLongerThanTheKernelAccepts() throws {
    let name = PathBytes([UInt8](repeating: 0x64, count: 200))
    try fixture.chain(of: name, depth: 40, leaf: "leaf")
    var path = fixture.root
    for _ in 0..<40 { path = path.appending(name.bytes) }
    #expect(path.bytes.count > 8000)
    let folder = try opener.open(path, followingLast: false)
    let found = "leaf".withCString { faccessat(folder.raw, $0, F_OK, 0) }
    #expect(found == 0)
    #expect(failure(path.appending("none".utf8)) == ENOENT)
    #expect(failure(path.appending("leaf".utf8)) == ENOTDIR)
  }

  @Test func refusesANameThatIsTooLongForAnyCall() throws {
    #expect(failure(PathBytes([UInt8](repeating: 0x61, count: 5000))) == ENAMETOOLONG)
  }

  @Test func closesTheFoldersOnTheWayWhenALaterStepFails() throws {
    let name = PathBytes([UInt8](repeating: 0x64, count: 200))
    try fixture.chain(of: name, depth: 40, leaf: "leaf")
    var path = fixture.root
    for _ in 0..<40 { path = path.appending(name.bytes) }
    for turn in 1...2 {
      let calls = FaultyCalls()
      calls.on(.open, nil, turns: turn...turn, .fail(EACCES))
      #expect { _ = try FolderOpener(calls: calls).open(path, followingLast: false) } throws: {
        ($0 as? BatchError)?.errno == EACCES
      }
    }
    #expect(fixture.openDescriptors == 0)
  }

  // MARK: Below an operand

  /// The path of `names` below the fixture, which is the operand.
  private func directory(_ names: String...) -> DirectoryPath {
    names.reduce(DirectoryPath(operand: fixture.root)) { directory, name in
      let entry = DirectoryEntry(nameOffset: 0, kind: .directory, inode: 0)
      return directory.subdirectory(of: entry, names: NameArena(name: name.utf8), device: 0)
    }
  }

  @Test func goesDownNameByName() throws {
    try fixture.folder("a/b/c")
    let plain = try opener.open(fixture.path("a/b/c"), followingLast: false)
    let strict = try opener.openBelowOperand(directory("a", "b", "c"))
    #expect(try inode(plain) == inode(strict))
    let top = try opener.openBelowOperand(directory())
    let root = try opener.open(fixture.root, followingLast: false)
    #expect(try inode(top) == inode(root))
  }

  @Test(arguments: ["a", "b", "c"]) func refusesALinkAnywhereOnTheWay(name: String) throws {
    try fixture.folder("a/b/c")
    let path: PathBytes = name == "a" ? "a" : name == "b" ? "a/b" : "a/b/c"
    try fixture.rename(path, to: "aside")
    try fixture.symbolicLink(path, to: fixture.path("aside"))
    #expect { _ = try opener.openBelowOperand(directory("a", "b", "c")) } throws: {
      [ENOTDIR, ELOOP].contains(($0 as? BatchError)?.errno ?? 0)
    }
    #expect(fixture.openDescriptors == 0)
  }

  @Test func hasTwoDescriptorsOpenAtMost() throws {
    try fixture.folder("a/b/c/d")
    let most = Crowd()
    let fixture = fixture
    calls.on(
      .open, nil,
      .after {
        let count = fixture.openDescriptors
        most.enter(count)
        most.leave(count)
      })
    _ = try opener.openBelowOperand(directory("a", "b", "c", "d"))
    #expect(most.most == DescriptorBudget.tokensToList)
    #expect(fixture.openDescriptors == 0)
  }

  @Test(arguments: [true, false]) func opensBelowAFolder(hasOneCall: Bool) throws {
    try fixture.folder("a/b/c")
    try fixture.symbolicLink("a/link", to: "b")
    try fixture.file("a/file", "")
    if !hasOneCall { calls.on(.openBeneath, nil, .fail(ENOSYS)) }
    let root = try opener.folder(named: fixture.root)
    for (names, isSame) in [("a/b/c", "a/b/c"), ("a/", "a"), ("", "")] as [(PathBytes, PathBytes)] {
      let found = try opener.open(names.bytes[...], below: root)
      #expect(try inode(found) == fixture.status(isSame.isEmpty ? "." : isSame)?.identity)
    }
    for (names, errors) in [
      ("a/link", [ELOOP, ENOTDIR]), ("a/link/c", [ELOOP, ENOTDIR]), ("a/file", [ENOTDIR]),
      ("a/none/c", [ENOENT]),
    ] as [(PathBytes, [Int32])] {
      #expect { _ = try opener.open(names.bytes[...], below: root) } throws: {
        errors.contains(($0 as? BatchError)?.errno ?? 0)
      }
    }
    #expect(fixture.openDescriptors == 1)
  }

  @Test func opensFarBelowAFolder() throws {
    try fixture.chain(of: "a-name-of-twenty-byte", depth: 300, leaf: "leaf")
    let root = try opener.folder(named: fixture.root)
    let names = Array(repeating: Array("a-name-of-twenty-byte".utf8), count: 300).joined(
      separator: Array("/".utf8))
    let found = try opener.open(Array(names)[...], below: root)
    var raw = stat()
    #expect("leaf".withCString { fstatat(found.raw, $0, &raw, 0) } == 0)
  }

  @Test func holdsNoMoreFoldersOnTheWayThanItMay() throws {
    let name = "a-name-of-forty-bytes-0123456789-0123456"
    let path = Array(repeatElement(name, count: 30).joined(separator: "/").utf8)
    try fixture.chain(of: PathBytes(name), depth: 30, leaf: "leaf")
    let held = HeldFolders(limit: 2)
    let opener = FolderOpener(calls: calls, holding: held)
    let root = try opener.folder(named: fixture.root)
    for length in [path.count, path.count - name.utf8.count - 1] {
      let folder = try opener.folder(path[..<length], below: root, shown: "")
      #expect(fixture.openDescriptors == 4 && folder.identity != root.identity)
    }
    // The first way has five steps; the second one begins at the last folder that is kept open.
    #expect(calls.count(of: .openBeneath, PathBytes(name)) == 6)
    opener.forget(Array(name.utf8)[...], below: root)
    #expect(fixture.openDescriptors == 1)
  }

  @Test("Creating folders far below existing ones does not try each of these", arguments: [1, 2, 3, 5])
  func createsFarBelow(missing: Int) throws {
    try fixture.chain(of: "a", depth: 40, leaf: "leaf")
    let root = try opener.folder(named: fixture.root)
    let names = Array(repeating: "a", count: 40) + Array(repeating: "new", count: missing)
    var made = 0
    let folder = try opener.make(Array(names.joined(separator: "/").utf8)[...], below: root, shown: "") {
      _, _ in
      made += 1
    }
    #expect(folder.isNew && made == missing)
    #expect(calls.count(of: .change(.makeFolder), "a") <= 2)
    #expect(calls.count(of: .openBeneath, "a") <= 3)
  }
}
