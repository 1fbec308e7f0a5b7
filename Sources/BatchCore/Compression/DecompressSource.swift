/// The files of a tree for a run that decompresses them: no output is given to two of them, and what has
/// several names is decoded once.
public struct DecompressSource: BatchSource {
  private var tree: TreeSource
  private let naming: OutputNaming
  private var claims: OutputClaims?
  private var firstNames: [FileIdentity: FileRecord] = [:]

  /// - Parameter operandCount: nil where it is not known; more than one can lead to one output.
  public init(_ tree: TreeSource, operandCount: Int?, naming: OutputNaming) {
    self.tree = tree
    self.naming = naming
    claims = operandCount == 1 ? nil : OutputClaims()
  }

  public mutating func next() -> DecompressItem? {
    while let item = tree.next() {
      switch item {
      case .standardInput: return .standardInput
      case .problem(let problem): return .problem(problem)
      case .file(let record):
        // Without an output it is told by the way that files take.
        guard let target = naming.target(of: record.path) else { return .file(record) }
        switch claims?.claim(target, for: record) ?? .granted {
        case .granted: break
        case .repeated: continue
        case .refused(let error): return .problem(Problem(.unreadable, error))
        }
        guard record.status.linkCount > 1 else { return .file(record) }
        if let first = firstNames[record.status.identity] { return .link(record, first: first) }
        firstNames[record.status.identity] = record
        return .file(record)
      }
    }
    return nil
  }

  public func weight(of item: DecompressItem) -> Int64 {
    if case .file(let record) = item { record.status.size } else { 0 }
  }
}
