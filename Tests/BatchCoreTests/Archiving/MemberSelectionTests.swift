import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The choice of members")
struct MemberSelectionTests {
  private func takes(_ glob: PathBytes, _ path: PathBytes, isDirectory: Bool = false) throws -> Bool {
    try MemberSelection(globs: [glob]).matches(try RelativePath(path), isDirectory: isDirectory) == [0]
  }

  @Test("selects by name, by path, and by the folder that contains a member")
  func rules() throws {
    #expect(try takes("*.txt", "a/b.txt"))
    #expect(try takes("a/b", "a/b/c/d"))
    #expect(try takes("a", "a/b"))
    #expect(try takes("b/", "a/b/c"))
    #expect(try takes("b/", "a/b", isDirectory: true))
    #expect(try !takes("b/", "a/b"))
    #expect(try !takes("a/c", "b/a/c"))
    #expect(try !takes("*.txt", "a/b.txt2"))
    #expect(try takes("/a", "a"))
    #expect(try takes("./a", "a/b"))
    #expect(try !takes("./b", "a/b"))
    #expect(try takes("././a/*.txt", "a/b.txt"))
    #expect(try takes("./", "a/b"))
    #expect(try takes(".", "a"))
    #expect(try !takes(".a", "a"))
  }

  @Test("has wildcards that match slashes, like tar --wildcards")
  func wildcards() throws {
    for (glob, path) in [
      ("*/security.md", "p/docs/security.md"), ("p/*", "p/docs/x"), ("p/*.md", "p/docs/x.md"),
      ("p?docs/x", "p/docs/x"), ("p*x", "p/docs/x"), ("*c*/x", "p/docs/y/x"),
    ] as [(PathBytes, PathBytes)] {
      #expect(try takes(glob, path) == (glob != "p*x"), "\(glob)")
    }
    #expect(try !takes("*/security.md", "p/docs/security.md2"))
    #expect(try !takes("*/y", "p/docs/x"))
  }

  @Test("suggests a path with the same end for a pattern without a match")
  func suggestions() {
    var matches = GlobMatches(["src/y", "./docs/", "nothing", "seen", "sr"])
    matches.note([3])
    for path in ["srv/other", "srv/src/y2", "srv/src/y/z", "srv/src/y", "p/docs/x"] {
      matches.look(at: Array(path.utf8))
    }
    #expect(
      matches.unmatched == [
        UnmatchedGlob("src/y", suggestion: "srv/src/y"), UnmatchedGlob("./docs/", suggestion: "p/docs"),
        UnmatchedGlob("nothing"), UnmatchedGlob("sr"),
      ])
  }

  @Test("says which patterns matched")
  func several() throws {
    let selection = try MemberSelection(globs: ["x", "a", "*b"])
    #expect(selection.matches(try RelativePath("a/b"), isDirectory: false) == [1, 2])
  }

  @Test("refuses patterns that can never match", arguments: ["", "[", "!a"] as [PathBytes])
  func refused(glob: PathBytes) {
    #expect(throws: BatchError.self) { try MemberSelection(globs: [glob]) }
  }
}
