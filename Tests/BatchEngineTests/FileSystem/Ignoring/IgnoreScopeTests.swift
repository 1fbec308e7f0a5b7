import Testing

@testable import BatchEngine

@Suite struct IgnoreScopeTests {
  private func isIgnored(_ scope: IgnoreScope, _ path: String, isDirectory: Bool = false) -> Bool? {
    let bytes = Array(path.utf8)
    return scope.isIgnored(
      path: bytes.span, nameStart: PathBytes(bytes).lastComponent.startIndex, isDirectory: isDirectory)
  }

  @Test("patterns are relative to the folder of their file")
  func relative() {
    let scope = IgnoreScope().entering("x/y".utf8, gitignore: Array("/a\nb/c\n".utf8))
    #expect(isIgnored(scope, "x/y/a") == true)
    #expect(isIgnored(scope, "x/y/z/a") == nil)
    #expect(isIgnored(scope, "x/y/b/c") == true)
  }

  @Test("a deeper file overrides a shallower one")
  func deeper() {
    let root = IgnoreScope().entering("".utf8, gitignore: Array("*.log\n".utf8))
    let inner = root.entering("x".utf8, gitignore: Array("!keep.log\n".utf8))
    #expect(isIgnored(root, "x/keep.log") == true)
    #expect(isIgnored(inner, "x/keep.log") == false)
    #expect(isIgnored(inner, "x/other.log") == true)
    #expect(isIgnored(inner, "x/other.txt") == nil)
  }

  @Test("a folder without patterns shares the scope above it")
  func shared() {
    let root = IgnoreScope()
    #expect(root.entering("x".utf8, gitignore: nil) === root)
    #expect(root.entering("x".utf8, gitignore: Array("# nothing\n".utf8)) === root)
  }

  @Test("files in very many nested folders all count, and are released without a deep recursion")
  func deepNesting() {
    var scope = IgnoreScope()
    for depth in 0..<50_000 {
      scope = scope.entering(
        repeatElement(UInt8(ascii: "d"), count: depth),
        gitignore: Array(depth == 0 ? "first".utf8 : "other".utf8))
    }
    let path = [UInt8](repeating: UInt8(ascii: "d"), count: 50_000) + Array("/first".utf8)
    #expect(scope.isIgnored(path: path.span, nameStart: 50_001, isDirectory: false) == true)
  }
}
