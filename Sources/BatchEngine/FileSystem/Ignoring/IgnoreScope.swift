/// The `.gitignore` patterns that hold in one folder: its own and those of the folders above it.
///
/// Immutable, so that a walk hands it down and every folder keeps its own.
package final class IgnoreScope: Sendable {
  /// The patterns of one `.gitignore`, and where paths below its folder start.
  private struct Layer: Sendable {
    let patterns: [IgnorePattern]
    let base: Int
  }

  /// So many layers are kept side by side before a new link of the chain: a chain with a link for
  /// each folder of a deep tree would be released by as deep a recursion.
  private static let layersPerLink = 64

  private let layers: [Layer]
  private let outer: IgnoreScope?

  /// The scope above the operand: nothing is ignored. Files above the operand are not looked for.
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

  /// Whether the entry is ignored; nil when no pattern matches. The deepest file decides, and in it
  /// the last line that matches.
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
