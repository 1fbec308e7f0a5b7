import Testing

@testable import BatchEngine

@Suite struct PathBytesTests {
  @Test(arguments: [
    ("a/b", "b", "a"), ("a", "a", "."), ("/a", "a", "/"), ("a/b//", "b", "a"), ("/", "", "/"),
    ("a//b", "b", "a"), ("", "", "."),
  ])
  func splitsIntoParentAndName(path: String, name: String, parent: String) {
    #expect(Array(PathBytes(path).lastComponent) == Array(name.utf8))
    #expect(PathBytes(path).parent == PathBytes(parent))
  }

  @Test func joinsWithoutDoublingSlashes() {
    #expect(PathBytes("t").appending("f".utf8) == "t/f")
    #expect(PathBytes("t//").appending("f".utf8) == "t//f")
    #expect(PathBytes("/").appending("f".utf8) == "/f")
    #expect(PathBytes("").appending("f".utf8) == "f")
  }

  @Test func keepsNormalizationFormsApart() {
    #expect(PathBytes("caf\u{e9}") != PathBytes("cafe\u{301}"))
    #expect(Set([PathBytes("caf\u{e9}"), PathBytes("cafe\u{301}")]).count == 2)
  }

  @Test func passesBytesToTheKernelUnchanged() {
    let path = PathBytes([0x6b, 0xff, 0x80])
    let copied = path.withCString { pointer in (0..<4).map { UInt8(bitPattern: pointer[$0]) } }
    #expect(copied == [0x6b, 0xff, 0x80, 0])
    #expect(path.text == nil)
  }
}
