import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The choice of members")
struct MemberSelectionTests {
  private func takes(_ glob: PathBytes, _ path: PathBytes, isDirectory: Bool = false) throws -> Bool {
    try MemberSelection(globs: [glob]).matches(try RelativePath(path), isDirectory: isDirectory) == [0]
  }

  @Test("goes by name, by path, and by the folders that a member is in")
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

  @Test("tells which patterns matched")
  func several() throws {
    let selection = try MemberSelection(globs: ["x", "a", "*b"])
    #expect(selection.matches(try RelativePath("a/b"), isDirectory: false) == [1, 2])
  }

  @Test("refuses patterns that can never match", arguments: ["", "[", "!a"] as [PathBytes])
  func refused(glob: PathBytes) {
    #expect(throws: BatchError.self) { try MemberSelection(globs: [glob]) }
  }
}
