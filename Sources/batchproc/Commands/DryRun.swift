import BatchCore
import BatchEngine

/// Lists the files that a run would process, and processes nothing.
struct DryRun {
  let session: Session
  let verb: String
  var isNULEnded = false

  /// - Parameters:
  ///   - check: the check whose files are listed; nil to list the files of a walk.
  ///   - name: the name to show for a file; nil for one that would be skipped.
  func run(
    _ operands: Operands, _ walk: WalkOptions, of check: CheckCall? = nil,
    name: @escaping @Sendable (FileRecord) throws(BatchError) -> PathBytes? = { $0.path }
  ) throws(BatchError) -> Ending {
    let results = ResultWriter(session)
    let call = FileListCall(of: check, name: name) { [isNULEnded] (path, bytes) in
      results.append(name: path, isNULEnded: isNULEnded, to: &bytes)
    }
    let outcome = try session.run(call, .paths(operands, walk)) { (rows) throws(BatchError) in
      try results.write(rows)
    }
    return session.ending(outcome) { _ in
      let counts = outcome.summary.counts
      return SummaryText(
        verb: verb, files: counts.done, bytes: counts.byteCount, others: counts.unprocessed)
    }
  }
}
