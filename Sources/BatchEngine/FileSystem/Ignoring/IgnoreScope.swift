/// The `.gitignore` patterns that apply in one folder: its own and those of the folders above it.
///
/// Immutable, so that a walk can pass it down and every folder keeps its own.
package final class IgnoreScope: Sendable {
  /// The patterns of one `.gitignore`, and where paths below its folder start.
  private struct Layer: Sendable {
    let patterns: [IgnorePattern]
    let base: Int
  }

  /// This many layers share one link of the chain. A chain with one link for each folder of a deep tree would be released by an
  /// equally deep recursion.
  private static let layersPerLink = 64

  private let layers: [Layer]
  private let outer: IgnoreScope?

  /// The scope above the operand, which ignores nothing. Ignore files above the operand are not read.
  package convenience init() {
    self.init(layers: [], outer: nil)
  }

  private init(layers: [Layer], outer: IgnoreScope?) {
    self.layers = layers
    self.outer = outer
  }

  /// The scope inside a folder.
  ///
  /// - Parameters:
  ///   - folder: the folder's path from the operand, without a slash at either end; empty for the operand.
  ///   - gitignore: the content of its `.gitignore`, nil when it has none. git reads only regular
  ///     files there, never through a symbolic link.
  package func entering(_ folder: some Collection<UInt8>, gitignore: [UInt8]?) -> IgnoreScope {
    guard let gitignore else { return self }
    let patterns = IgnoreFile.patterns(in: gitignore)
    guard !patterns.isEmpty else { return self }
    let layer = Layer(patterns: patterns, base: folder.isEmpty ? 0 : folder.count + 1)
    return layers.count < Self.layersPerLink
      ? IgnoreScope(layers: layers + [layer], outer: outer) : IgnoreScope(layers: [layer], outer: self)
  }

  /// Whether the entry is ignored; nil when no pattern matches. The last matching line of the deepest file with a match
  /// decides.
  package func isIgnored(path: Span<UInt8>, nameStart: Int, isDirectory: Bool) -> Bool? {
    var scope: IgnoreScope? = self
    while let current = scope {
      for layer in current.layers.reversed() {
        for pattern in layer.patterns.reversed()
        where pattern.matches(path: path, nameStart: nameStart, base: layer.base, isDirectory: isDirectory) {
          return !pattern.isNegated
        }
      }
      scope = current.outer
    }
    return nil
  }
}
