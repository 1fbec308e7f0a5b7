import Synchronization

/// Which entries of a tree are taken, by rules and by `.gitignore` files.
///
/// A rule with a slash at its start or in its middle is matched against the path below the operand, and as a path from the root
/// or from the working folder: below the operand `p`, `docs/a`, `p/docs/a` and `/home/me/p/docs/a` are the same. A rule without
/// such a slash is matched against names, at every depth.
///
/// An entry is judged in this order:
/// 1. The rules in their order: the last one that matches decides.
/// 2. When none matches, and all rules are ``Rule/include(_:)``, a file is skipped. Folders are still entered, because files
///    below may match.
/// 3. Otherwise, with a scope, `.git` is skipped and the `.gitignore` files decide: the last matching line of the deepest file
///    that has one.
/// 4. Every other entry is taken.
///
/// An entry is judged only when the walk reaches it: nothing inside a skipped folder can be included again, as in gitignore(5).
/// The operand itself and the folders above it are not judged.
public struct PathFilter: Sendable {
  /// Whether an entry is taken; a skipped folder is not entered.
  public enum Decision: Sendable, Hashable {
    case take
    case skip
  }

  /// One rule of the caller. Patterns are those of gitignore(5), as bytes.
  public enum Rule: Sendable, Hashable {
    /// Skips what matches the pattern; with a leading `!`, takes it.
    case exclude([UInt8])
    /// Takes what matches the pattern, also when an earlier rule or a `.gitignore` skips it; with a leading `!`, skips it.
    /// `dir/` stands for the folder and everything below it; so does `dir` if there are no other rules than these.
    case include([UInt8])
    /// The lines of a file, each as ``exclude(_:)``, with the comments and trailing spaces of gitignore(5).
    case excludeFrom(PathBytes)
  }

  private struct CompiledRule: Sendable {
    let pattern: IgnorePattern
    let decision: Decision
    /// Its index among the given rules.
    let number: Int
  }

  /// State that copies of a filter share.
  private final class Shared: Sendable {
    let given: [GivenRule]
    let use: FilterUse
    /// The patterns of rules with slashes, by index in `rules`.
    let paths: [Int: OperandPattern]
    let workingFolder: PathBytes
    let last = Mutex<(operand: [UInt8], rules: [CompiledRule])?>(nil)

    init(_ given: [GivenRule], _ paths: [Int: OperandPattern], in workingFolder: PathBytes) {
      (self.given, self.paths, self.workingFolder) = (given, paths, workingFolder)
      use = FilterUse(count: given.count)
    }
  }

  private var rules: [CompiledRule]
  private let skipsUnmatchedFiles: Bool
  private let shared: Shared?

  /// A filter without rules: only ignore files decide.
  package init() {
    rules = []
    skipsUnmatchedFiles = false
    shared = nil
  }

  /// Compiles the rules in the order in which they were given.
  ///
  /// - Throws: `.invalid` for a pattern that can never match, and the error of reading a pattern file.
  public init(rules: [Rule]) throws(BatchError) {
    try self.init(rules: rules, workingFolder: "")
  }

  /// - Parameter workingFolder: where relative rules with slashes begin; empty for the working folder of this process.
  package init(rules: [Rule], workingFolder: PathBytes) throws(BatchError) {
    var compiled: [CompiledRule] = []
    var given: [GivenRule] = []
    var paths: [Int: OperandPattern] = [:]
    var hasInclude = false
    // If only some paths are taken, a folder among them is meant with everything below it.
    let areAllIncludes = rules.allSatisfy { if case .include = $0 { true } else { false } }
    func add(_ pattern: IgnorePattern, _ text: [UInt8], _ decision: Decision) {
      paths[compiled.count] = OperandPattern(text)
      compiled.append(CompiledRule(pattern: pattern, decision: decision, number: given.count))
    }
    for rule in rules {
      switch rule {
      case .exclude(let glob):
        let pattern = try Self.pattern(glob)
        add(pattern, glob, pattern.isNegated ? .take : .skip)
        given.append(GivenRule(option: .exclude, pattern: PathBytes(glob)))
      case .include(let glob):
        let pattern = try Self.pattern(glob)
        add(pattern, glob, pattern.isNegated ? .skip : .take)
        let namesFolder = glob.last == UInt8(ascii: "/")
        if !pattern.isNegated, namesFolder || areAllIncludes {
          let content = Self.contentGlob(ofFolder: namesFolder ? glob : glob + [UInt8(ascii: "/")])
          add(try Self.pattern(content), content, .take)
        }
        given.append(GivenRule(option: .include, pattern: PathBytes(glob)))
        hasInclude = hasInclude || !pattern.isNegated
      case .excludeFrom(let file):
        for (pattern, text) in try IgnoreFile.load(file == "-" ? "/dev/stdin" : file) {
          add(pattern, Array(text), pattern.isNegated ? .take : .skip)
          given.append(GivenRule(option: .excludeFrom, pattern: PathBytes(text), file: file))
        }
      }
    }
    self.rules = compiled
    skipsUnmatchedFiles = hasInclude && areAllIncludes
    shared = Shared(given, paths, in: workingFolder)
  }

  /// The rules in the order in which they were given; the lines of a file are rules of their own.
  package var givenRules: [GivenRule] { shared?.given ?? [] }

  /// The rules that have matched nothing so far, on any thread, in the order in which they were given.
  package var unmatchedRules: [GivenRule] {
    guard let shared else { return [] }
    return shared.given.indices.filter { !shared.use.isUsed($0) }.map { shared.given[$0] }
  }

  /// The filter for the entries below an operand: rules with slashes also match paths from the working folder and from the
  /// root. Cheap for the same operand as before, and without such rules.
  package func below(_ operand: ArraySlice<UInt8>) -> PathFilter {
    guard let shared, !shared.paths.isEmpty else { return self }
    var filter = self
    filter.rules = shared.last.withLock { last in
      if let last, operand.elementsEqual(last.operand) { return last.rules }
      let expanded = expanded(shared.paths, below: PathBytes(operand), in: shared.workingFolder)
      last = (Array(operand), expanded)
      return expanded
    }
    return filter
  }

  private func expanded(
    _ paths: [Int: OperandPattern], below operand: PathBytes, in workingFolder: PathBytes
  ) -> [CompiledRule] {
    let names = OperandPattern.names(of: operand)
    let working = OperandPattern.names(of: workingFolder)
    var expanded: [CompiledRule] = []
    for (index, rule) in rules.enumerated() {
      expanded.append(rule)
      for pattern in paths[index]?.patterns(below: names, in: working) ?? [] {
        expanded.append(CompiledRule(pattern: pattern, decision: rule.decision, number: rule.number))
      }
    }
    return expanded
  }

  /// Judges one entry whose parent folder was taken.
  ///
  /// - Parameters:
  ///   - path: from the operand to the entry, without a slash at either end, not empty.
  ///   - nameStart: where the last name of the path starts, 0 for an entry of the operand itself.
  ///   - scope: the `.gitignore` files that apply in the entry's folder; nil if they are not used.
  package func decision(
    relativePath path: Span<UInt8>, nameStart: Int, isDirectory: Bool, scope: IgnoreScope? = nil
  ) -> Decision {
    var index = rules.count
    while index > 0 {
      index -= 1
      guard
        rules[index].pattern.matches(path: path, nameStart: nameStart, base: 0, isDirectory: isDirectory)
      else { continue }
      if let use = shared?.use, use.hasUnused {
        note(index, use, path: path, nameStart: nameStart, isDirectory: isDirectory)
      }
      return rules[index].decision
    }
    if skipsUnmatchedFiles, !isDirectory { return .skip }
    guard let scope else { return .take }
    if Self.isGitFolder(path, from: nameStart) { return .skip }
    let isIgnored = scope.isIgnored(path: path, nameStart: nameStart, isDirectory: isDirectory)
    return isIgnored == true ? .skip : .take
  }

  /// Records that a rule has matched, and which earlier rules match too although they did not decide.
  private func note(
    _ index: Int, _ use: FilterUse, path: Span<UInt8>, nameStart: Int, isDirectory: Bool
  ) {
    use.mark(rules[index].number)
    for earlier in 0..<index where !use.isUsed(rules[earlier].number) {
      if rules[earlier].pattern.matches(path: path, nameStart: nameStart, base: 0, isDirectory: isDirectory) {
        use.mark(rules[earlier].number)
      }
    }
  }

  /// Whether the name is `.git`: a folder, or the file that replaces it in submodules and worktrees.
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

  /// The glob for everything inside the folders that a glob with a final slash matches.
  private static func contentGlob(ofFolder glob: [UInt8]) -> [UInt8] {
    let folder = glob.dropLast()
    let isAnywhere = !folder.contains(UInt8(ascii: "/"))
    return (isAnywhere ? Array("**/".utf8) : []) + folder + Array("/**".utf8)
  }
}
