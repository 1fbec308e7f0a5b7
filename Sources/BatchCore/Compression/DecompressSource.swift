/// The files of a tree for a run that decompresses them: no output is given to two of them.
public struct DecompressSource: BatchSource {
  private var tree: TreeSource
  private let naming: OutputNaming
  private var claims: OutputClaims?

  /// - Parameter operandCount: nil where it is not known; more than one can lead to one output.
  public init(_ tree: TreeSource, operandCount: Int?, naming: OutputNaming) {
    self.tree = tree
    self.naming = naming
    claims = operandCount == 1 ? nil : OutputClaims()
  }

  public mutating func next() -> WalkItem? {
    while let item = tree.next() {
      guard case .file(let record) = item, let target = naming.target(of: record.path) else { return item }
      switch claims?.claim(target, for: record) ?? .granted {
      case .granted: return item
      case .repeated: continue
      case .refused(let error): return .problem(Problem(.unreadable, error))
      }
    }
    return nil
  }

  public func weight(of item: WalkItem) -> Int64 { tree.weight(of: item) }
}
