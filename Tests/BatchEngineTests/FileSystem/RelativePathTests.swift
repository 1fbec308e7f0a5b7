import TestSupport
import Testing

@testable import BatchEngine

@Suite("A path below a folder")
struct RelativePathTests {
  @Test(
    "has normal names and single slashes",
    arguments: [
      ("a", "a"), ("./a/b", "a/b"), ("./a/", "a"), ("./", ""), ("./.", ""), (".//a", "a"), ("././a", "a"),
      ("./.hidden/b", ".hidden/b"), ("./...", "..."), ("a//b/./c/", "a/b/c"), ("/a/b", "a/b"), ("///", ""),
      (".", ""),
      ("..a", "..a"),
      ("a/...", "a/..."), ("a..b/..c", "a..b/..c"),
    ])
  func normal(path: String, place: String) throws {
    #expect(try RelativePath(PathBytes(path)).bytes == Array(place.utf8))
    #expect(try RelativePath(PathBytes(path)).wasAbsolute == path.hasPrefix("/"))
  }

  @Test(
    "is refused when it leads out",
    arguments: ["..", "../a", "./..", "./a/../b", "a/../b", "a/..", "/..", "a/b/../../.."])
  func refused(path: String) {
    expectError(.invalid) { try RelativePath(PathBytes(path)) }
  }

  @Test("is refused with a NUL in it")
  func nul() {
    expectError(.invalid) { try RelativePath(PathBytes([0x61, 0, 0x62])) }
  }

  @Test("can drop leading names")
  func dropping() throws {
    let path = try RelativePath("a/b/c")
    #expect(path.dropping(0) == path)
    #expect(path.dropping(2)?.bytes == Array("c".utf8))
    #expect(path.dropping(3) == nil)
    #expect(path.name == "c" && path.parent.elementsEqual("a/b".utf8))
    #expect(try RelativePath("x").parent.isEmpty)
  }
}
