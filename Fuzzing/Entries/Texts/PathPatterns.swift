@testable import BatchEngine

/// Lines of a pattern file, and paths: a pattern must give the same result twice, and a literal pattern must
/// match its own name.
func fuzzPathPatterns(_ start: UnsafePointer<UInt8>, _ count: Int) {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
  let paths = (parts.count > 1 ? parts[1] : Array("a/b.txt".utf8)).split(separator: 0).prefix(8).map(
    Array.init)
  let patterns = IgnoreFile.patterns(in: parts[0])
  let scope = IgnoreScope().entering([], gitignore: parts[0])
  for path in paths where !path.isEmpty {
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    for isDirectory in [true, false] {
      var last: Bool?
      for pattern in patterns
      where pattern.matches(path: path.span, nameStart: start, base: 0, isDirectory: isDirectory) {
        last = !pattern.isNegated
      }
      let ignored = scope.isIgnored(path: path.span, nameStart: start, isDirectory: isDirectory)
      precondition(ignored == last, "two answers")
    }
  }
  _ = IgnorePattern(parts[0], crossesFolders: true)?.matches(
    path: bytes.span, nameStart: 0, base: 0, isDirectory: false)
  _ = OperandPattern(parts[0])
}
