import BatchEngine

/// A pattern that nothing matched.
package struct UnmatchedGlob: Sendable, Hashable {
  package let glob: PathBytes
  /// The first paths whose end the pattern matches.
  package let suggestions: [PathBytes]

  package init(_ glob: PathBytes, suggestions: [PathBytes] = []) {
    self.glob = glob
    self.suggestions = suggestions
  }
}

/// Which patterns have matched, and suggestions for the others.
struct GlobMatches: Sendable {
  private static let mostSuggestions = 5

  private let globs: [PathBytes]
  /// The patterns as ends of paths: `/src/y`.
  private let ends: [[UInt8]]
  /// Patterns with wildcards and folders, as patterns for the ends of paths; nil for others.
  private let endPatterns: [IgnorePattern?]
  private var matched: Set<Int> = []
  private var suggestions: [Int: [PathBytes]] = [:]
  /// Patterns with which a path ends byte for byte.
  private var named: Set<Int> = []

  init(_ globs: [PathBytes]) {
    let slash = UInt8(ascii: "/")
    self.globs = globs
    ends = globs.map { glob in
      var name = glob.bytes[...]
      if name.starts(with: "./".utf8) { name = name.dropFirst(2) }
      while name.first == slash { name = name.dropFirst() }
      while name.last == slash { name = name.dropLast() }
      return name.isEmpty ? [] : [slash] + name
    }
    endPatterns = ends.map { end in
      guard end.dropFirst().contains(slash), end.contains(where: { "*?[".utf8.contains($0) }) else {
        return nil
      }
      return IgnorePattern(Array("**".utf8) + end, crossesFolders: true)
    }
  }

  mutating func note(_ numbers: [Int]) { matched.formUnion(numbers) }

  /// Checks whether an unmatched path, or one of its folders, ends like a pattern.
  mutating func look(at path: [UInt8]) {
    for index in globs.indices where !matched.contains(index) {
      let known = suggestions[index] ?? []
      if let found = self.path(path, endingIn: ends[index]) {
        // An exact name is meant, and not what it matches as a pattern.
        suggest(found, after: named.insert(index).inserted ? [] : known, for: index)
      } else if !named.contains(index), known.count < Self.mostSuggestions,
        endPatterns[index]?.matches(
          path: path.span, nameStart: (path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1, base: 0,
          isDirectory: false) == true
      {
        suggest(PathBytes(path), after: known, for: index)
      }
    }
  }

  private mutating func suggest(_ path: PathBytes, after known: [PathBytes], for index: Int) {
    guard known.count < Self.mostSuggestions, !known.contains(path) else { return }
    suggestions[index] = known + [path]
  }

  /// The path up to an end that it has, or that one of its folders has.
  private func path(_ path: [UInt8], endingIn end: [UInt8]) -> PathBytes? {
    guard !end.isEmpty else { return nil }
    for start in path.indices.dropLast(end.count - 1)
    where path[start] == end[0] && path[start..<(start + end.count)].elementsEqual(end) {
      let stop = start + end.count
      if stop == path.count || path[stop] == end[0] { return PathBytes(path[..<stop]) }
    }
    return nil
  }

  var unmatched: [UnmatchedGlob] {
    globs.indices.filter { !matched.contains($0) }.map {
      UnmatchedGlob(globs[$0], suggestions: suggestions[$0] ?? [])
    }
  }
}
