import TestSupport
import Testing

@testable import BatchEngine

@Suite struct PathFilterTests {
  private typealias Rule = PathFilter.Rule

  private func exclude(_ glob: String) -> Rule { .exclude(Array(glob.utf8)) }
  private func include(_ glob: String) -> Rule { .include(Array(glob.utf8)) }

  /// The decision about a path; a slash at its end means a folder: `dir/` or `file`.
  private func decision(_ filter: PathFilter, _ path: String, scope: IgnoreScope? = nil)
    -> PathFilter.Decision
  {
    let isDirectory = path.hasSuffix("/")
    let bytes = Array((isDirectory ? String(path.dropLast()) : path).utf8)
    return filter.decision(
      relativePath: bytes.span, nameStart: PathBytes(bytes).lastComponent.startIndex,
      isDirectory: isDirectory,
      scope: scope)
  }

  @Test("without rules everything is taken")
  func noRules() throws {
    let filter = try PathFilter(rules: [])
    #expect(decision(filter, "a") == .take)
    #expect(decision(filter, ".git/") == .take)
  }

  @Test("--exclude skips matching paths and takes all others")
  func excludes() throws {
    let filter = try PathFilter(rules: [exclude("*.o"), exclude("/build/")])
    #expect(decision(filter, "x/a.o") == .skip)
    #expect(decision(filter, "build/") == .skip)
    #expect(decision(filter, "build") == .take)
    #expect(decision(filter, "x/build/") == .take)
    #expect(decision(filter, "x/a.c") == .take)
  }

  /// `W` in a path stands for the path of the working folder.
  @Test(
    "a rule with a slash is matched below the operand, from the working folder and from the root",
    arguments: [
      ("p", "p/docs", "docs/", true), ("p", "docs", "docs/", true), ("p", "/docs", "docs/", true),
      ("p", "W/p/docs", "docs/", true), ("W/p", "p/docs", "docs/", true), ("W/p", "W/p/docs", "docs/", true),
      ("./p/", "p/docs/", "docs/", true), ("p", "./p/docs", "docs/", true), ("p", "p/docs/", "docs", false),
      (".", "./docs", "docs/", true), (".", "p/docs", "p/docs/", true), (".", "W/p/docs", "p/docs/", true),
      ("../x", "../x/docs", "docs/", true), ("p/../q", "q/docs", "docs/", true),
      ("p", "../p/docs", "docs/", false),
      ("/srv/x", "/srv/*/docs", "docs/", true), ("/srv/x", "/srv/**/docs", "a/b/docs/", true),
      ("/srv/x", "/srv/**", "a", true), ("/srv/x", "/**/x/docs", "docs/", true),
      ("/srv/x", "/srv/y/docs", "docs/", false),
      ("/srv/x", "/srv/x", "a", false), ("/srv/x", "/srv", "a", false),
      ("/srv/x", "/srv/x/docs", "a/docs/", false),
      ("p", "q/docs", "docs/", false), ("p", "p/docs", "p/docs/", true), ("p", "p/d[o]cs", "docs/", true),
      ("", "W/f", "f", true), ("p/", "p/f", "f", true), ("/", "/srv/x", "srv/x/", true),
    ] as [(String, String, String, Bool)])
  func belowOperand(operand: String, glob: String, path: String, isSkipped: Bool) throws {
    let working = WorkingFolder.absolute("").description.dropLast()
    func text(_ text: String) -> String { text.replacing("W", with: working) }
    let filter = try PathFilter(rules: [exclude(text(glob))])
    for _ in 0..<2 {
      let below = filter.below(Array(text(operand).utf8)[...])
      #expect((decision(below, path) == .skip) == isSkipped)
    }
    #expect(filter.unmatchedRules.isEmpty == isSkipped)
  }

  @Test("each of several operands is matched with its own rules, in their order")
  func operands() throws {
    let filter = try PathFilter(rules: [exclude("a/x"), include("b/x"), exclude("b/*")])
    for _ in 0..<2 {
      #expect(decision(filter.below(Array("a".utf8)[...]), "x") == .skip)
      #expect(decision(filter.below(Array("b".utf8)[...]), "x") == .skip)
      #expect(decision(filter.below(Array("c".utf8)[...]), "x") == .take)
    }
    #expect(filter.unmatchedRules.isEmpty)
  }

  @Test("a rule that matched is not reported as unmatched when a later rule decided")
  func unmatched() throws {
    let folder = try TreeFixture()
    let file = try folder.file("patterns", "# objects\n*.o\n*.none  \n!keep.o\n")
    let filter = try PathFilter(
      rules: [exclude("*.c"), include("a.c"), exclude("b.c"), .excludeFrom(file), include("dir/")])
    #expect(filter.unmatchedRules.count == 7)
    #expect(decision(filter, "a.c") == .take)
    #expect(decision(filter, "x.o") == .skip)
    #expect(decision(filter, "dir/f") == .take)
    #expect(
      filter.unmatchedRules == [
        GivenRule(option: .exclude, pattern: "b.c"),
        GivenRule(option: .excludeFrom, pattern: "*.none", file: file),
        GivenRule(option: .excludeFrom, pattern: "!keep.o", file: file),
      ])
  }

  @Test("the last rule that matches decides")
  func lastWins() throws {
    let kept = try PathFilter(rules: [exclude("*.o"), include("keep.o")])
    #expect(decision(kept, "x/keep.o") == .take)
    #expect(decision(kept, "x/other.o") == .skip)
    #expect(decision(kept, "x/other.c") == .take)
    let skipped = try PathFilter(rules: [include("keep.o"), exclude("*.o")])
    #expect(decision(skipped, "keep.o") == .skip)
  }

  @Test("with nothing but --include, other files are skipped and folders entered")
  func includesOnly() throws {
    let filter = try PathFilter(rules: [include("*.c"), include("!test*")])
    #expect(decision(filter, "x/a.c") == .take)
    #expect(decision(filter, "x/a.h") == .skip)
    #expect(decision(filter, "x/") == .take)
    #expect(decision(filter, "x/test.c") == .skip)
    #expect(decision(filter, "tests/") == .skip)
  }

  @Test("--include of a folder takes everything below it")
  func includesFolder() throws {
    let anywhere = try PathFilter(rules: [include("src/")])
    #expect(decision(anywhere, "x/src/y/a") == .take)
    #expect(decision(anywhere, "src/a") == .take)
    #expect(decision(anywhere, "src") == .skip)
    let anchored = try PathFilter(rules: [include("/src/")])
    #expect(decision(anchored, "src/a") == .take)
    #expect(decision(anchored, "x/src/a") == .skip)
  }

  @Test("with nothing but --include, a folder without a slash takes everything below it too")
  func includesFolderWithoutSlash() throws {
    let only = try PathFilter(rules: [include("src"), include("/doc/*.d"), include("!src/private")])
    #expect(decision(only, "x/src/y/a") == .take)
    #expect(decision(only, "x/src") == .take)
    #expect(decision(only, "doc/a.d/b") == .take)
    #expect(decision(only, "x/doc/a.d/b") == .skip)
    #expect(decision(only, "src/private") == .skip)
    #expect(decision(only, "other") == .skip)
    let beside = try PathFilter(rules: [exclude("*.o"), include("src")])
    #expect(decision(beside, "src/a.o") == .skip)
    #expect(decision(beside, "src/a.c") == .take)
  }

  @Test("a `!` reverses an --exclude")
  func negatedExclude() throws {
    let filter = try PathFilter(rules: [exclude("*"), exclude("!a")])
    #expect(decision(filter, "a") == .take)
    #expect(decision(filter, "b") == .skip)
  }

  @Test("--exclude-from is applied at its place among the rules")
  func excludeFrom() throws {
    let folder = try TreeFixture()
    let file = try folder.file("patterns", "# objects\n*.o\n!keep.o\n")
    let filter = try PathFilter(rules: [include("a.o"), .excludeFrom(file), include("b.o")])
    #expect(decision(filter, "a.o") == .skip)
    #expect(decision(filter, "b.o") == .take)
    #expect(decision(filter, "keep.o") == .take)
    #expect(decision(filter, "a.c") == .take)
  }

  @Test("a pattern of the command line that can never match is an error", arguments: ["", "[a", "a\\", "/"])
  func malformed(glob: String) throws {
    for rule in [exclude(glob), include(glob)] {
      let error = try #require(throws: BatchError.self) { try PathFilter(rules: [rule]) }
      #expect(error.code == .invalid)
      #expect(error.path == PathBytes(glob))
    }
  }

  @Test("rules of the command line override .gitignore files")
  func overGitignore() throws {
    let scope = IgnoreScope().entering("".utf8, gitignore: Array("*.log\n!a.txt\n".utf8))
    let filter = try PathFilter(rules: [exclude("a.txt"), include("keep.log")])
    #expect(decision(filter, "keep.log", scope: scope) == .take)
    #expect(decision(filter, "other.log", scope: scope) == .skip)
    #expect(decision(filter, "a.txt", scope: scope) == .skip)
  }

  @Test(".git is skipped when .gitignore files count, unless it is included")
  func gitFolder() throws {
    let plain = try PathFilter(rules: [])
    #expect(decision(plain, "x/.git/", scope: IgnoreScope()) == .skip)
    #expect(decision(plain, "x/.git", scope: IgnoreScope()) == .skip)
    #expect(decision(plain, "x/.gitignore", scope: IgnoreScope()) == .take)
    #expect(decision(try PathFilter(rules: [include(".git/")]), ".git/", scope: IgnoreScope()) == .take)
  }

  @Test("a cache tag is recognized by its first 43 bytes")
  func cacheTag() {
    let signature = Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)
    #expect(PathFilter.cacheTagLength == 43)
    #expect(PathFilter.isCacheTag(signature))
    #expect(PathFilter.isCacheTag(signature + Array("\n# made by a test".utf8)))
    #expect(!PathFilter.isCacheTag(signature.dropLast()))
    #expect(!PathFilter.isCacheTag(Array("signature: 8a477f597d28d172789f06886806bc55".utf8)))
    #expect(!PathFilter.isCacheTag([UInt8]()))
  }
}
