import BatchEngine

/// The files that a check would read, without what is known of their digests.
public struct CheckedFilesSource: BatchSource {
  private var source: CheckSource

  public init(_ source: CheckSource) {
    self.source = source
  }

  public mutating func next() throws(BatchError) -> WalkItem? {
    while let item = try source.next() {
      switch item {
      case .file(_, let record): return .file(record)
      case .standardInput: return .standardInput
      case .unavailable(_, let error):
        return .problem(Problem(error.code == .missing ? .missing : .unreadable, error))
      case .unreadable(let problem): return .problem(problem)
      case .malformed(let error): return .problem(Problem(.malformed, error))
      case .text: continue
      }
    }
    return nil
  }

  public func weight(of item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.status.size } else { 0 }
  }
}
