import Dispatch
import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite("A temporary file")
final class TemporaryFileTests {
  /// Opens the folders of a fixture again after they were closed.
  private final class Opener: StagedFolder.Opener {
    let root: PathBytes
    init(_ root: PathBytes) { self.root = root }
    func openFolder(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
      try OpenFolder(of: root.appending(path).appending("x".utf8), calls: LinuxCalls())
    }
  }

  private let fixture: TreeFixture
  private let calls = FaultyCalls()
  private let root: OpenFolder
  private let outer = StagingArea()
  private var area: StagingArea?

  init() throws {
    fixture = try TreeFixture()
    root = try OpenFolder(of: fixture.path("x"), calls: calls)
    area = StagingArea(within: outer)
  }

  private func place(_ path: String = "") -> StagedFolder {
    StagedFolder(Array(path.utf8)[...], below: Opener(fixture.root))
  }

  private func write(_ text: String, to file: borrowing TemporaryFile) throws {
    try withBytes(of: Array(text.utf8)) { (raw) throws(BatchError) in try file.write(raw, at: 0) }
  }

  private func stage(_ text: String) throws -> TemporaryName {
    let file = try TemporaryFile(in: root, area: try #require(area))
    try write(text, to: file)
    return try file.stage(in: place())
  }

  private func make(_ text: String, as name: PathBytes, replacing: Bool = false) throws -> Int32 {
    let staged = try stage(text)
    #expect(fixture.exists(PathBytes(staged.bytes)))
    return TemporaryFile.rename(
      staged, in: root, to: name, in: root, replacing: replacing, area: try #require(area), by: CommitRight())
  }

  private func unnamed() throws -> TemporaryFile {
    guard let file = try TemporaryFile.unnamed(in: root, permissions: 0o640, area: try #require(area)) else {
      throw BatchError(.unwritable, "the file system of the tests has no files without a name")
    }
    return file
  }

  @Test("gets its final name when it is complete")
  func published() throws {
    #expect(try make("one", as: "new") == 0)
    area = nil
    #expect(fixture.text("new") == "one")
    #expect(fixture.names() == ["new"])
  }

  @Test("without a temporary name leaves nothing behind, and does not replace an existing file")
  func withoutName() throws {
    for turn in 0..<2 {
      var file = try unnamed()
      #expect(fixture.names().count == turn)
      #expect(try file.link(as: "new") == (turn == 0 ? 0 : EEXIST))
    }
    #expect(fixture.names() == ["new"])
  }

  @Test("gets a temporary name when the final name was taken meanwhile and may be replaced")
  func takenMeanwhile() throws {
    try fixture.file("new", "old")
    var file = try unnamed()
    #expect(try file.link(as: "new") == EEXIST)
    let name = try file.stage(in: place())
    #expect(fixture.text("new") == "old" && fixture.exists(PathBytes(name.bytes)))
    area = nil
    #expect(fixture.names() == ["new"])
  }

  @Test("is removed with its staging area, also in folders below that were closed")
  func dropped() throws {
    try fixture.folder("a")
    try fixture.folder("a/b")
    var deep: OpenFolder? = try OpenFolder(of: fixture.path("a/b/x"), calls: calls)
    let file = try TemporaryFile(in: try #require(deep), area: try #require(area))
    try file.setSize(10)
    _ = try file.stage(in: place("a/b"))
    deep = nil
    _ = try stage("x")
    #expect(fixture.names().count == 2 && fixture.names(in: "a/b").count == 1)
    area = nil
    #expect(fixture.names() == ["a"] && fixture.names(in: "a/b").isEmpty)
  }

  @Test("is removed when it is dropped before it is staged")
  func letGo() throws {
    do {
      let file = try TemporaryFile(in: root, area: try #require(area))
      try write("lost", to: file)
      #expect(fixture.names().count == 1)
    }
    #expect(fixture.names().isEmpty)
  }

  @Test("is removed by a signal, after which no other can be made")
  func signal() throws {
    _ = try stage("x")
    outer.removeAll()
    #expect(fixture.names().isEmpty)
    expectError(.cancelled) { try stage("x") }
    area = StagingArea(within: outer)
    expectError(.cancelled) { try stage("x") }
    #expect(fixture.names().isEmpty)
  }

  @Test("is removed by its own thread when it is made during a signal")
  func signalWhileMade() throws {
    let outer = outer
    let area = StagingArea(within: outer, patience: .seconds(0))
    calls.on(.change(.create), nil, .before { outer.removeAll() })
    let error = try #require(throws: BatchError.self) { _ = try TemporaryFile(in: root, area: area) }
    #expect(error.code == .cancelled)
    #expect(fixture.names().isEmpty)
  }

  @Test("keeps an existing file, and replaces it when asked to")
  func replacing() throws {
    try fixture.file("f", "old")
    #expect(try make("x", as: "f") == EEXIST)
    #expect(fixture.text("f") == "old")
    #expect(try make("x", as: "f", replacing: true) == 0)
    #expect(fixture.text("f") == "x")
    try fixture.folder("d")
    #expect(try make("x", as: "d", replacing: true) != 0)
    area = nil
    #expect(fixture.names() == ["d", "f"])
  }

  @Test(
    "says which call failed, and leaves nothing behind",
    arguments: [
      (FileChange.create, "cannot create"), (.write, "cannot write"), (.resize, "cannot write"),
      (.sync, "cannot sync"),
    ])
  func failing(change: FileChange, message: String) throws {
    calls.on(.change(change), nil, .fail(ENOSPC))
    let error = try #require(throws: BatchError.self) {
      let file = try TemporaryFile(in: root, area: try #require(area))
      try write("x", to: file)
      try file.setSize(10)
      try file.sync()
    }
    #expect(error.message == message && error.code == .unwritable && error.errno == ENOSPC)
    #expect(fixture.names().isEmpty)
  }

  @Test("gets its name by other calls when renameat2 is missing", arguments: [ENOSYS, EINVAL])
  func oldKernel(number: Int32) throws {
    try fixture.file("taken", "old")
    for (turn, expected) in [("free", Int32(0)), ("taken", EEXIST)] {
      calls.on(.change(.rename), PathBytes(turn), turns: 1...1, .fail(number))
      #expect(try make("x", as: PathBytes(turn)) == expected)
    }
    // On FAT, hard links are missing as well.
    for (turn, expected) in [("other", Int32(0)), ("taken", EEXIST)] {
      calls.on(.change(.rename), PathBytes(turn), turns: turn == "taken" ? 2...2 : 1...1, .fail(number))
      calls.on(.change(.link), PathBytes(turn), .fail(EPERM))
      #expect(try make("y", as: PathBytes(turn)) == expected)
    }
    area = nil
    #expect(fixture.names() == ["free", "other", "taken"] && fixture.text("taken") == "old")
  }
}
