import BatchEngine

/// The files that a check would read, without their digests.
package struct CheckedFilesSource: BatchSource {
  private var source: CheckSource

  package init(_ source: CheckSource) {
    self.source = source
  }

  package mutating func next() throws(BatchError) -> Walked? {
    while case .item(let item)? = try source.next() {
      switch item {
      case .file(_, let record): return .item(.file(record))
      case .standardInput: return .item(.standardInput)
      case .unavailable(_, let error):
        return .problem(Problem(error.code == .missing ? .missing : .unreadable, error))
      case .unreadable(let problem): return .problem(problem)
      case .malformed(let error): return .problem(Problem(.malformed, error))
      case .text: continue
      }
    }
    return nil
  }

  package func weight(of item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.status.size } else { 0 }
  }
}
