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
      guard known.count < Self.mostSuggestions, let found = self.path(path, endingLike: index),
        !known.contains(found)
      else { continue }
      suggestions[index] = known + [found]
    }
  }

  /// The path up to the end that the pattern matches; nil if it matches no end.
  private func path(_ path: [UInt8], endingLike index: Int) -> PathBytes? {
    let slash = UInt8(ascii: "/")
    let end = ends[index]
    guard !end.isEmpty else { return nil }
    for start in path.indices.dropLast(end.count - 1)
    where path[start] == end[0] && path[start..<(start + end.count)].elementsEqual(end) {
      let stop = start + end.count
      if stop == path.count || path[stop] == slash { return PathBytes(path[..<stop]) }
    }
    let nameStart = (path.lastIndex(of: slash) ?? -1) + 1
    return endPatterns[index]?.matches(path: path.span, nameStart: nameStart, base: 0, isDirectory: false)
      == true
      ? PathBytes(path) : nil
  }

  var unmatched: [UnmatchedGlob] {
    globs.indices.filter { !matched.contains($0) }.map {
      UnmatchedGlob(globs[$0], suggestions: suggestions[$0] ?? [])
    }
  }
}
