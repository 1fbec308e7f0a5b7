import Glibc
import TestSupport
import Testing

@testable import BatchEngine

@Suite struct ChildProgramTests {
  private let tree: TreeFixture

  init() throws {
    tree = try TreeFixture()
    try tree.file("one/plain", "")
    try tree.file("two/plain", "")
    try tree.file("two/program", "")
    try tree.file("two/-rf", "")
    try tree.folder("one/program")
    for name in ["two/plain", "two/program", "two/-rf"] as [PathBytes] {
      tree.path(name).withCString { _ = chmod($0, 0o755) }
    }
  }

  private var path: PathBytes {
    PathBytes(
      tree.path("none").bytes + Array(":".utf8) + tree.path("one").bytes + Array(":".utf8)
        + tree.path("two").bytes)
  }

  @Test(
    "takes the first file in PATH that may be executed",
    arguments: ["plain", "program", "-rf"] as [PathBytes])
  func finds(name: PathBytes) throws {
    #expect(try ChildProgram.find(name, path: path) == tree.path("two").appending(name.bytes))
  }

  @Test func aNameWithASlashIsNotSearched() throws {
    let program = tree.path("two/program")
    #expect(try ChildProgram.find(program, path: "/nowhere") == program)
    expectError(.missing, at: "./program") { try ChildProgram.find("./program", path: path) }
  }

  @Test("searches the usual folders without PATH, and the current one for an empty element")
  func elements() throws {
    #expect(try ChildProgram.find("sh", path: nil) == "/bin/sh")
    #expect(try ChildProgram.find("sh", path: "/nowhere::/bin") == "/bin/sh")
    let here = try ChildProgram.find("sh", path: PathBytes(String(repeating: "../", count: 30) + "bin:"))
    #expect(here.bytes.starts(with: "../".utf8))
  }

  @Test("names a command that is missing", arguments: ["no-such-program", "", "plain/x"] as [PathBytes])
  func missing(name: PathBytes) {
    let error = expectError(.missing, at: name) { try ChildProgram.find(name, path: path) }
    #expect(error?.message == "command not found")
  }

  @Test func namesACommandThatMayNotBeExecuted() throws {
    let only = PathBytes(tree.path("one").bytes)
    #expect(
      expectError(.unreadable, at: "plain") { try ChildProgram.find("plain", path: only) }?.message
        == "the command may not be executed")
    #expect(
      expectError(.unreadable, at: "program") { try ChildProgram.find("program", path: only) }?.message
        == "the command is a folder")
  }
}
