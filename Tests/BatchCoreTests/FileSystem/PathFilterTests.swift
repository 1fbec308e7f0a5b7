import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct PathFilterTests {
  private typealias Rule = PathFilter.Rule

  private func exclude(_ glob: String) -> Rule { .exclude(Array(glob.utf8)) }
  private func include(_ glob: String) -> Rule { .include(Array(glob.utf8)) }

  /// The decision about a path whose last character tells its kind: `dir/` or `file`.
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

  @Test("--exclude skips what matches and takes the rest")
  func excludes() throws {
    let filter = try PathFilter(rules: [exclude("*.o"), exclude("/build/")])
    #expect(decision(filter, "x/a.o") == .skip)
    #expect(decision(filter, "build/") == .skip)
    #expect(decision(filter, "build") == .take)
    #expect(decision(filter, "x/build/") == .take)
    #expect(decision(filter, "x/a.c") == .take)
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

  @Test("a `!` turns an --exclude round")
  func negatedExclude() throws {
    let filter = try PathFilter(rules: [exclude("*"), exclude("!a")])
    #expect(decision(filter, "a") == .take)
    #expect(decision(filter, "b") == .skip)
  }

  @Test("--exclude-from stands where it was given")
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

  @Test("rules of the command line are stronger than .gitignore files")
  func overGitignore() throws {
    let scope = IgnoreScope().entering("".utf8, gitignore: Array("*.log\n!a.txt\n".utf8))
    let filter = try PathFilter(rules: [exclude("a.txt"), include("keep.log")])
    #expect(decision(filter, "keep.log", scope: scope) == .take)
    #expect(decision(filter, "other.log", scope: scope) == .skip)
    #expect(decision(filter, "a.txt", scope: scope) == .skip)
  }

  @Test(".git is skipped where .gitignore files count, unless asked for")
  func gitFolder() throws {
    let plain = try PathFilter(rules: [])
    #expect(decision(plain, "x/.git/", scope: IgnoreScope()) == .skip)
    #expect(decision(plain, "x/.git", scope: IgnoreScope()) == .skip)
    #expect(decision(plain, "x/.gitignore", scope: IgnoreScope()) == .take)
    #expect(decision(try PathFilter(rules: [include(".git/")]), ".git/", scope: IgnoreScope()) == .take)
  }

  @Test("a cache tag is known by its first 43 bytes")
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
