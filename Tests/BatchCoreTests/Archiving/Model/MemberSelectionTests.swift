import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The choice of members")
struct MemberSelectionTests {
  private func takes(_ glob: PathBytes, _ path: PathBytes, isDirectory: Bool = false) throws -> Bool {
    !MemberSelection(globs: [glob]).matches(try RelativePath(path), isDirectory: isDirectory).isEmpty
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
        UnmatchedGlob("src/y", suggestions: ["srv/src/y"]), UnmatchedGlob("./docs/", suggestions: ["p/docs"]),
        UnmatchedGlob("nothing"), UnmatchedGlob("sr"),
      ])
  }

  @Test("suggests up to five paths whose end a pattern with wildcards matches, each once")
  func suggestionsForWildcards() {
    var matches = GlobMatches(["docs/*", "./s?c/y*", "docs/[ab].c", "/docs/z", "*.none"])
    for path in ["p/docs/1", "p/docs/[ab].c", "p/docs/a.c", "q/src/yes", "q/src/no", "docs"] {
      matches.look(at: Array(path.utf8))
      matches.look(at: Array(path.utf8))
    }
    for number in 2...9 { matches.look(at: Array("q/docs/\(number)".utf8)) }
    #expect(
      matches.unmatched.map(\.suggestions) == [
        ["p/docs/1", "p/docs/[ab].c", "p/docs/a.c", "q/docs/2", "q/docs/3"], ["q/src/yes"],
        ["p/docs/[ab].c"], [], [],
      ])
  }

  @Test("says which patterns matched")
  func several() throws {
    let selection = MemberSelection(globs: ["x", "a", "*b"])
    #expect(
      selection.matches(try RelativePath("a/b"), isDirectory: false)
        .map { [$0.number, $0.match == .name ? 1 : 0] } == [[1, 1], [2, 0]])
  }

  private func taken(_ text: PathBytes, from names: [PathBytes], areNames: Bool = false) throws -> [PathBytes]
  {
    let selection = MemberSelection(globs: [text], areNames: areNames)
    var search = MemberSelection.NameSearch(selection)
    for name in names { search.look(at: name, isDirectory: false) }
    let decided = selection.decided(by: search)
    #expect(!decided.isAmbiguous)
    return try names.filter { !decided.matches(try RelativePath($0), isDirectory: false).isEmpty }
  }

  @Test(
    "takes a text that is exactly a name, or a folder of names, for that name",
    arguments: [
      ("p [2024].jpg", ["p 2.jpg", "p [2024].jpg", "p [2024].jpg2"], ["p [2024].jpg"]),
      ("[abc].txt", ["a.txt", "[abc].txt"], ["[abc].txt"]),
      ("d[1]", ["d1/x", "d[1]/x", "d[1]x"], ["d[1]/x"]), ("d[1]/", ["d1/x", "d[1]/x"], ["d[1]/x"]),
      (#"b\c"#, ["bc", #"b\c"#], [#"b\c"#]), ("*", ["a", "*", "b/*"], ["*"]), ("a?", ["ab", "a?"], ["a?"]),
      ("{a,b}", ["a", "{a,b}"], ["{a,b}"]), ("!a", ["a", "!a"], ["!a"]), ("[", ["a", "["], ["["]),
      ("./[a]", ["a", "[a]"], ["[a]"]), ("/[a]", ["a", "[a]"], ["[a]"]),
      ("README", ["s/README", "README"], ["README"]),
    ] as [(PathBytes, [PathBytes], [PathBytes])])
  func exact(text: PathBytes, names: [PathBytes], expected: [PathBytes]) throws {
    #expect(try taken(text, from: names) == expected)
    #expect(try taken(text, from: names, areNames: true) == expected)
  }

  @Test(
    "takes a text for a glob if there is no such name, and for nothing if it can be none",
    arguments: [
      ("p [2024].jpg", ["p 2.jpg"], ["p 2.jpg"]), ("README", ["s/README"], ["s/README"]),
      ("d[1]/", ["d[1]", "d1/x"], ["d1/x"]), ("", ["a"], []), ("[", ["a"], []), ("!a", ["a", "b"], []),
    ] as [(PathBytes, [PathBytes], [PathBytes])])
  func globs(text: PathBytes, names: [PathBytes], expected: [PathBytes]) throws {
    #expect(try taken(text, from: names) == expected)
    #expect(try taken(text, from: names, areNames: true) == [])
  }
}
