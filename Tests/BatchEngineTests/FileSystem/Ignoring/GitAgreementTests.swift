import Foundation
import TestSupport
import Testing

@testable import BatchEngine

private let gitExecutable = ["/usr/bin/git", "/usr/local/bin/git"].first {
  FileManager.default.isExecutableFile(atPath: $0)
}

/// Compares the filter with git: both judge the same trees with the same `.gitignore` patterns.
@Suite(.enabled(if: gitExecutable != nil, "git is not installed"))
struct GitAgreementTests {
  private static let names = ["a", "b", "ab", "ba", "abc", "a.o", ".h", "a b", "[x]", "!a", "#a", "-", "A"]

  /// Three levels of folders, each with every name; no folder has the name of a file.
  private static let tree: [(path: String, isDirectory: Bool)] = {
    var entries: [(path: String, isDirectory: Bool)] = []
    func fill(_ prefix: String, _ depth: Int) {
      entries += names.map { (prefix + $0, false) }
      guard depth < 3 else { return }
      for name in ["d", "da", "b.d"] {
        entries.append((prefix + name, true))
        fill(prefix + name + "/", depth + 1)
      }
    }
    fill("", 1)
    return entries
  }()

  private static let pieces = [
    "a", "b", "d", "da", "*", "**", "?", "/", "/", "**/", "/**", "[ab]", "[!a]", "[^b-d]", "[[:alpha:]]",
    "[]x[]", "[x", "\\a", "\\", " ", "\\ ", ".o", ".d", "!", "#", "[[:punct:]a]", "***", "[a-]", "/**/", "-",
  ]

  private static func pattern(_ random: inout SeededNumbers) -> String {
    while true {
      var line = Int.random(in: 0..<4, using: &random) == 0 ? "!" : ""
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        line += pieces[Int.random(in: pieces.indices, using: &random)]
      }
      if Int.random(in: 0..<6, using: &random) == 0 { line += "/" }
      // git before 2.52 treats `a**/b` like `a` and a whole-name `**`, which contradicts its manual.
      let hasStarsInName = line.contains(/^[!\/]?[^*?\[\\]*[^*?\[\\\/]\*\*/)
      if !hasStarsInName { return line }
    }
  }

  @Test("random pattern files give the result of `git check-ignore`")
  func randomPatterns() throws {
    let folder = try TreeFixture()
    try run(["init", "-q", "--template="], in: folder)
    for entry in Self.tree where entry.isDirectory { try folder.folder(PathBytes(entry.path)) }
    for entry in Self.tree where !entry.isDirectory { try folder.file(PathBytes(entry.path), "") }

    var random = SeededNumbers(seed: 20_260_101)
    let filter = try PathFilter(rules: [])
    for _ in 0..<(Campaign.isFull ? 250 : 100) {
      var files: [String: String] = [:]
      for place in ["", "d/", "d/da/"] {
        let lines = (0..<Int.random(in: 1...4, using: &random)).map { _ in Self.pattern(&random) }
        files[place] = lines.joined(separator: "\n") + "\n"
        try folder.file(PathBytes(place + ".gitignore"), lines.joined(separator: "\n") + "\n")
      }
      let theirs = try gitIgnored(in: folder)
      let ours = ignored(by: filter, files: files)
      #expect(ours == theirs, "patterns: \(files)")
    }
  }

  /// The paths that a walk with our filter leaves out.
  private func ignored(by filter: PathFilter, files: [String: String]) -> Set<String> {
    var result: Set<String> = []
    var scopes: [String: IgnoreScope] = [:]
    scopes[""] = IgnoreScope().entering("".utf8, gitignore: files[""].map { Array($0.utf8) })
    for entry in Self.tree {
      let bytes = Array(entry.path.utf8)
      let nameStart = PathBytes(bytes).lastComponent.startIndex
      let parent = String(decoding: bytes[..<nameStart], as: UTF8.self)
      guard let scope = scopes[parent],
        filter.decision(
          relativePath: bytes.span, nameStart: nameStart, isDirectory: entry.isDirectory, scope: scope)
          == .take
      else {
        // A folder comes before its entries. Without a scope, everything below it is left out too.
        result.insert(entry.path)
        continue
      }
      if entry.isDirectory {
        let gitignore = files[entry.path + "/"].map { Array($0.utf8) }
        scopes[entry.path + "/"] = scope.entering(bytes, gitignore: gitignore)
      }
    }
    return result
  }

  private func gitIgnored(in folder: TreeFixture) throws -> Set<String> {
    let input = Self.tree.map { $0.path + "\0" }.joined()
    let output = try run(["check-ignore", "--no-index", "-z", "--stdin"], in: folder, input: input)
    return Set(output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
  }

  @discardableResult
  private func run(_ arguments: [PathBytes], in folder: TreeFixture, input: String = "") throws -> [UInt8] {
    let git = try Outcome(
      of: ["git", "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"] + arguments,
      input: Array(input.utf8), environment: ["GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"],
      in: folder)
    // `git check-ignore` ends with 1 when no path is ignored.
    try #require([0, 1].contains(git.status), "\(git.errorText)")
    return git.output
  }
}
