import BatchCore
import BatchEngine

extension CopyChoices {
  /// Copies a set, and then removes copies that no rule keeps.
  ///
  /// - Returns: the line of the summary, and whether it is incomplete; each problem was reported.
  func copy(_ set: BackupSet, _ session: Session) throws(BatchError) -> (text: String, isIncomplete: Bool) {
    let common = session.common
    let remote = Remotes.remote(
      remote, isSynced: common.fsync, temporary: session.temporary, in: session.context)
    var copy = SetCopy(set, to: remote, comparesContents: comparesContents, in: session.context) {
      session.fail($0)
    }
    let outcome = try copy.copy { (file) throws(BatchError) in
      if common.verbose { session.diagnostics.print("copy \(TerminalText.string(file.bytes))") }
    }
    var isIncomplete = outcome.problems > 0
    var removed = 0
    if !retention.isEmpty, !isIncomplete {
      do throws(BatchError) {
        let copies = try RemoteSet(
          remote, named: set.name, keys: nil, temporary: session.temporary, in: session.context)
        removed = try copies.prune(retention)
      } catch {
        try session.cancellation.check()
        let isAllowed = isAppendOnly && error.code == .unwritable
        session.fail(error, severity: isAllowed ? .warning : .failure)
        isIncomplete = !isAllowed
      }
    }
    let text =
      "copied \(ByteCount.grouped(outcome.snapshots)) snapshots (\(ByteCount.files(outcome.files)), "
      + "\(ByteCount.text(Int64(clamping: outcome.bytes)))) to \(TerminalText.string(self.remote.bytes))"
      + (outcome.equal > 0 ? ", \(ByteCount.files(outcome.equal)) there already" : "")
      + (removed > 0 ? ", \(ByteCount.grouped(removed)) old copies removed" : "")
    return (text, isIncomplete)
  }
}
