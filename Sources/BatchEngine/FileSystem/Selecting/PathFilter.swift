/// Which entries of a tree are taken, by rules and by `.gitignore` files.
///
/// How an entry is judged:
/// 1. The rules in their order: the last one that matches decides.
/// 2. When none matches, and all rules are ``Rule/include(_:)``, a file is skipped. Folders are
///    entered all the same, because files below may match.
/// 3. Otherwise, with a scope, `.git` is skipped and the `.gitignore` files decide: the deepest file
///    with a line that matches, and in it the last such line.
/// 4. What nothing speaks of is taken.
///
/// An entry is judged only when the walk gets there: nothing inside a skipped folder can be taken back,
/// as in gitignore(5). The operand itself is not judged, nor is what stands above it.
public struct PathFilter: Sendable {
  /// What becomes of an entry; a folder that is skipped is not entered.
  public enum Decision: Sendable, Hashable {
    case take
    case skip
  }

  /// One rule of the caller. Patterns are those of gitignore(5), as bytes.
  public enum Rule: Sendable, Hashable {
    /// Skips what matches the pattern; with a `!` in front it takes it.
    case exclude([UInt8])
    /// Takes what matches the pattern, also when an earlier rule or a `.gitignore` skips it; with a `!`
    /// in front it skips it. `dir/` stands for the folder and everything below it.
    case include([UInt8])
    /// The lines of a file, each as ``exclude(_:)``, with the comments and trailing spaces of gitignore(5).
    case excludeFrom(PathBytes)
  }

  private struct CompiledRule: Sendable {
    let pattern: IgnorePattern
    let decision: Decision
  }

  private let rules: [CompiledRule]
  private let skipsUnmatchedFiles: Bool

  /// Without rules of its own: only ignore files decide.
  package init() {
    rules = []
    skipsUnmatchedFiles = false
  }

  /// Compiles the rules in the order in which they were given.
  ///
  /// - Throws: `.invalid` for a pattern that can never match, and the error of reading a pattern file.
  public init(rules: [Rule]) throws(BatchError) {
    var compiled: [CompiledRule] = []
    var hasInclude = false
    var hasExclude = false
    for rule in rules {
      switch rule {
      case .exclude(let glob):
        let pattern = try Self.pattern(glob)
        compiled.append(CompiledRule(pattern: pattern, decision: pattern.isNegated ? .take : .skip))
        hasExclude = true
      case .include(let glob):
        let pattern = try Self.pattern(glob)
        compiled.append(CompiledRule(pattern: pattern, decision: pattern.isNegated ? .skip : .take))
        if !pattern.isNegated, glob.last == UInt8(ascii: "/") {
          let content = try Self.pattern(Self.contentGlob(ofFolder: glob))
          compiled.append(CompiledRule(pattern: content, decision: .take))
        }
        hasInclude = hasInclude || !pattern.isNegated
      case .excludeFrom(let file):
        for pattern in try IgnoreFile.load(file == "-" ? "/dev/stdin" : file) {
          compiled.append(CompiledRule(pattern: pattern, decision: pattern.isNegated ? .take : .skip))
        }
        hasExclude = true
      }
    }
    self.rules = compiled
    skipsUnmatchedFiles = hasInclude && !hasExclude
  }

  /// Judges one entry whose parent folder was taken.
  ///
  /// - Parameters:
  ///   - path: from the operand to the entry, without a slash at either end, not empty.
  ///   - nameStart: where the last name of the path starts, 0 for an entry of the operand itself.
  ///   - scope: the `.gitignore` files that hold in the entry's folder; nil when they do not count.
  package func decision(
    relativePath path: Span<UInt8>, nameStart: Int, isDirectory: Bool, scope: IgnoreScope? = nil
  ) -> Decision {
    for rule in rules.reversed()
    where rule.pattern.matches(path: path, nameStart: nameStart, base: 0, isDirectory: isDirectory) {
      return rule.decision
    }
    if skipsUnmatchedFiles, !isDirectory { return .skip }
    guard let scope else { return .take }
    if Self.isGitFolder(path, from: nameStart) { return .skip }
    let isIgnored = scope.isIgnored(path: path, nameStart: nameStart, isDirectory: isDirectory)
    return isIgnored == true ? .skip : .take
  }

  /// Whether the name is `.git`: a folder, or the file that stands for it in submodules and worktrees.
  private static func isGitFolder(_ path: Span<UInt8>, from start: Int) -> Bool {
    guard path.count - start == 4 else { return false }
    return path[start] == UInt8(ascii: ".") && path[start + 1] == UInt8(ascii: "g")
      && path[start + 2] == UInt8(ascii: "i") && path[start + 3] == UInt8(ascii: "t")
  }

  private static func pattern(_ glob: [UInt8]) throws(BatchError) -> IgnorePattern {
    guard let pattern = IgnorePattern(glob) else {
      throw BatchError(
        .invalid, "the pattern can never match", path: PathBytes(glob),
        remedy: "close every `[`, and write a backslash as `\\\\`")
    }
    return pattern
  }

  /// The glob of everything below the folders that a glob with a slash at its end matches.
  private static func contentGlob(ofFolder glob: [UInt8]) -> [UInt8] {
    let folder = glob.dropLast()
    let isAnywhere = !folder.contains(UInt8(ascii: "/"))
    return (isAnywhere ? Array("**/".utf8) : []) + folder + Array("/**".utf8)
  }
}
