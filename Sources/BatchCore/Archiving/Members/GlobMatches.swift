import BatchEngine

/// A pattern that nothing matched.
package struct UnmatchedGlob: Sendable, Hashable {
  package let glob: PathBytes
  /// A path with the same end as the pattern.
  package let suggestion: PathBytes?

  package init(_ glob: PathBytes, suggestion: PathBytes? = nil) {
    self.glob = glob
    self.suggestion = suggestion
  }
}

/// Which patterns have matched, and suggestions for the others.
struct GlobMatches: Sendable {
  private let globs: [PathBytes]
  /// The patterns as ends of paths: `/src/y`.
  private let ends: [[UInt8]]
  private var matched: Set<Int> = []
  private var suggestions: [Int: PathBytes] = [:]

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
  }

  mutating func note(_ numbers: [Int]) { matched.formUnion(numbers) }

  /// Checks whether an unmatched path, or one of its folders, ends like a pattern.
  mutating func look(at path: [UInt8]) {
    for index in globs.indices where !matched.contains(index) && suggestions[index] == nil {
      let end = ends[index]
      guard !end.isEmpty, path.count >= end.count else { continue }
      for start in 0...(path.count - end.count)
      where path[start] == end[0] && path[start..<(start + end.count)].elementsEqual(end) {
        let stop = start + end.count
        guard stop == path.count || path[stop] == UInt8(ascii: "/") else { continue }
        suggestions[index] = PathBytes(path[..<stop])
        break
      }
    }
  }

  var unmatched: [UnmatchedGlob] {
    globs.indices.filter { !matched.contains($0) }.map {
      UnmatchedGlob(globs[$0], suggestion: suggestions[$0])
    }
  }
}
