import BatchCore
import BatchEngine

/// Reports what a run would do.
extension BackupCommand {
  /// The last operand, if it was probably meant as the target: it is missing, empty, or a directory of snapshots. A directory with
  /// other files is data.
  static func target(among operands: [PathBytes]) -> PathBytes? {
    guard operands.count > 1, let last = operands.last else { return nil }
    guard let status = try? last.status(followingLinks: true) else { return last }
    guard status.kind == .directory, let names = try? LinuxCalls().names(in: last) else { return nil }
    return names.isEmpty || names.contains { SnapshotName.of($0) != nil } ? last : nil
  }

  /// Lists the files that would be archived; runs no hook, takes no lock, and writes nothing.
  func list() throws(BatchError) -> Ending {
    let set = try self.set()
    let results = ResultWriter(session)
    var call = BackupPreviewCall(to: set, options) { (path, bytes) in results.append(name: path, to: &bytes) }
    call.announce = { (preparation) throws(BatchError) in
      tell(preparation.remarks)
      tellSeries(preparation, isPlanned: true)
      try tellRemovals(preparation, of: set)
    }
    let input = CallInput.paths(Operands(try sources()), try session.walkOptions(forAllBut: []))
    let outcome = try session.run(call, input) { (rows) throws(BatchError) in try results.write(rows) }
    return session.ending(outcome) { result in
      let (counts, header) = (outcome.summary.counts, result.preparation.header)
      let kind = header.isFull ? "full" : "increment \(header.increment)"
      return SummaryText(
        verb: "would take a snapshot, \(kind), and archive", files: counts.done, bytes: counts.byteCount,
        others: counts.unprocessed)
    }
  }

  /// Reports which snapshots the rules would remove after this one was made.
  func tellRemovals(_ preparation: BackupPreparation, of set: BackupSet) throws(BatchError) {
    guard !choices.retention.isEmpty else { return }
    let removals = preparation.removals(
      choices.retention, by: choices.grouping, suspects: try set.foundDamage().suspects)
    for snapshot in removals {
      session.warn(
        BatchError(.special, "would remove the snapshot \(snapshot.label) of \(snapshot.header.origin)"),
        as: .note)
    }
    if removals.isEmpty {
      session.warn(BatchError(.special, "would remove no snapshot"), as: .note)
    }
  }
}
