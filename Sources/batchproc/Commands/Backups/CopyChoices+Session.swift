import BatchCore
import BatchEngine

extension CopyChoices {
  /// Copies a set, and then removes copies that no rule keeps.
  ///
  /// - Parameters:
  ///   - own: a snapshot of the only series whose copies are removed; nil for all series.
  ///   - removes: whether copies are removed at all.
  /// - Returns: the line of the summary, and whether everything was copied; each problem was reported.
  func copy(
    _ set: BackupSet, of own: SnapshotName? = nil, _ session: Session, removes: Bool = true
  ) throws(BatchError) -> (text: String, status: SetCopy.Status) {
    let common = session.common
    let remote = Remotes.remote(
      remote, isSynced: common.fsync, temporary: session.temporary, in: session.context)
    var copy = SetCopy(
      set, to: remote, comparesContents: comparesContents, allowsPlain: allowsPlain, in: session.context
    ) {
      session.fail($0)
    }
    let outcome = try copy.copy { (file) throws(BatchError) in
      if common.verbose { session.diagnostics.print("copy \(TerminalText.string(file.bytes))") }
    }
    var status = outcome.status
    var removed = 0
    if !retention.isEmpty, removes, status == .whole {
      do throws(BatchError) {
        let copies = try RemoteSet(
          remote, named: set.name, keys: nil, temporary: session.temporary, in: session.context)
        let outcome = try copies.prune(retention, of: set, by: grouping, only: own)
        removed = outcome.removed.count
        session.warn(ofFuture: outcome.future)
      } catch {
        try session.cancellation.check()
        let isAllowed = isAppendOnly && error.code == .unwritable
        session.fail(error, severity: isAllowed ? .warning : .failure)
        if !isAllowed { status = .partial }
      }
    }
    let text =
      "copied \(ByteCount.grouped(outcome.snapshots)) snapshots (\(ByteCount.files(outcome.files)), "
      + "\(ByteCount.text(Int64(clamping: outcome.bytes)))) to \(TerminalText.string(self.remote.bytes))"
      + (outcome.equal > 0 ? ", \(ByteCount.files(outcome.equal)) there already" : "")
      + (removed > 0 ? ", \(ByteCount.grouped(removed)) old copies removed" : "")
    return (text, status)
  }
}
