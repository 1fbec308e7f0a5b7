import TestSupport
import Testing

@testable import BatchEngine

@Suite struct IgnorePatternTests {
  private func matches(_ pattern: String, _ path: String, isDirectory: Bool = false) -> Bool {
    guard let compiled = IgnorePattern(Array(pattern.utf8)) else { return false }
    return matches(compiled, Array(path.utf8), isDirectory: isDirectory)
  }

  private func matches(_ pattern: IgnorePattern, _ path: [UInt8], isDirectory: Bool = false) -> Bool {
    let nameStart = PathBytes(path).lastComponent.startIndex
    return pattern.matches(path: path.span, nameStart: nameStart, base: 0, isDirectory: isDirectory)
  }

  @Test(
    "a pattern matches",
    arguments: [
      ("a", "a"), ("a", "x/y/a"), ("*.o", "x/a.o"), ("*.o", ".o"), ("a*", "x/abc"), ("*", "x/any"),
      ("a?c", "abc"), ("[a-c]x", "bx"), ("[!a-c]x", "dx"), ("[^a-c]x", "dx"), ("[]]", "]"), ("[!]]", "a"),
      ("[a-]", "-"), ("[a\\]]", "]"), ("[[:alpha:]]", "q"), ("[[:digit:][:upper:]]", "Q"),
      ("[[:x]", "["), ("[a-c-e]", "-"), ("\\*", "*"), ("\\!a", "!a"), ("/a", "a"), ("x/a", "x/a"),
      ("x/*", "x/a"),
      ("**/a", "a"), ("**/a", "x/y/a"), ("x/**", "x/y/a"), ("x/**/a", "x/a"), ("x/**/a", "x/y/z/a"),
      ("**/y/**/a", "x/y/z/y/a"), ("x**y", "xzzy"), ("**", "a"), ("/**", "x/a"), ("a*b*c/d*", "a1b2c/d"),
      ("**/*a*/b", "x/za/b"), ("a\\ ", "a "), ("***", "a"), ("x/***/a", "x/y/a"),
    ])
  func matching(pattern: String, path: String) {
    #expect(matches(pattern, path))
  }

  @Test(
    "a pattern does not match",
    arguments: [
      ("a", "ab"), ("a", "a/b"), ("*.o", "a.oo"), ("/a", "x/a"), ("x/a", "y/x/a"), ("x/*", "x/y/a"),
      ("a?c", "a/c"), ("a[/]c", "a/c"), ("a[!b]c", "a/c"), ("x*a", "x/a"), ("/x*/a", "xy/z/a"), ("x/**", "x"),
      ("**/a/b", "a"), ("x**/a", "x/y/z/a"), ("[b-a]", "a"), ("[[:alpha:]]", "1"), ("A", "a"), ("a/", "a"),
      ("x/**\\/a", "x/a"), ("!", "a"), ("//a", "a"),
    ])
  func notMatching(pattern: String, path: String) {
    #expect(!matches(pattern, path))
  }

  @Test("a slash at the end takes folders only")
  func foldersOnly() {
    #expect(matches("a/", "x/a", isDirectory: true))
    #expect(!matches("a/", "x/a", isDirectory: false))
    #expect(matches("/x/a/", "x/a", isDirectory: true))
  }

  @Test(
    "a pattern that can never match is refused",
    arguments: [
      "", "/", "//", "!", "[a", "[!", "[]", "a\\", "[[:nope:]]", "[[:alpha", "[a-", "[\\", "a[b-\\",
    ])
  func neverMatching(pattern: String) {
    #expect(IgnorePattern(Array(pattern.utf8)) == nil)
  }

  @Test("names are bytes: names that are not UTF-8 match, and `?` matches one byte")
  func bytes() throws {
    let any = try #require(IgnorePattern([0x61, 0x3f]))
    #expect(matches(any, [0x61, 0xff]))
    #expect(!matches(any, Array("a\u{e9}".utf8)))
    let high = try #require(IgnorePattern([0x5b, 0xf0, 0x2d, 0xff, 0x5d]))
    #expect(matches(high, [0xfe]))
    #expect(!matches(high, [0xef]))
  }

  @Test("many stars cost no exponential time", arguments: ["", "/"])
  func manyStars(separator: String) {
    let text = String(repeating: "a", count: 2_000)
    #expect(!matches(separator + String(repeating: "a*", count: 500) + "b", text))
    #expect(
      !matches(String(repeating: "**/a/", count: 50) + "b", String(repeating: "a/", count: 1_000) + "c"))
    #expect(
      !matches(String(repeating: "**/*a*/", count: 50) + "b", String(repeating: "aaa/", count: 1_000) + "c"))
  }

  @Test("random bytes are parsed or refused without a trap")
  func anyBytes() {
    var random = SeededNumbers(seed: 7)
    let alphabet = Array("ab/*?[]!^-\\: #\r".utf8) + [0, 0xff]
    for _ in 0..<20_000 {
      let line = random.bytes(0...8, of: alphabet)
      let path = random.bytes(1...6, of: Array("ab-".utf8) + [0xff])
      guard let pattern = IgnorePattern(line: line[...]) else { continue }
      // The same pattern must give the same result for any prefix of the path.
      let shifted = Array("zz/".utf8) + path
      #expect(
        pattern.matches(path: shifted.span, nameStart: 3, base: 3, isDirectory: true)
          == pattern.matches(path: path.span, nameStart: 0, base: 0, isDirectory: true))
    }
  }
}
