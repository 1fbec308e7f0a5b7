import BatchCore
import BatchEngine

extension CopyChoices {
  /// Copies a set, and then removes copies that no rule keeps.
  ///
  /// - Parameters:
  ///   - own: a snapshot of the only series whose copies are removed; nil for all series.
  ///   - removes: whether copies are removed at all.
  /// - Returns: the line of the summary, and the verdict; each problem was reported.
  func copy(
    _ set: BackupSet, of own: SnapshotName? = nil, _ session: Session, removes: Bool = true
  ) throws(BatchError) -> (text: String, verdict: CallVerdict) {
    var call = CopyCall(to: remote, temporary: session.temporary) { _ in set }
    (call.comparesContents, call.allowsPlain, call.isAppendOnly) = (
      comparesContents, allowsPlain, isAppendOnly
    )
    if removes { call.retention = retention }
    call.leastUsed = leastUsed
    call.parity = parity
    (call.grouping, call.own, call.isSynced) = (grouping, own, session.common.fsync)
    let outcome = try call.perform(.items([]), in: session.context, watchedBy: Unwatched()) { file in
      if session.common.verbose { session.diagnostics.print("copy \(TerminalText.string(file.bytes))") }
    }
    if let error = outcome.summary.stopped ?? outcome.failure { throw error }
    guard let result = outcome.result else { throw BatchError(.cancelled, "stopped") }
    session.warn(ofFuture: result.future)
    let copied = result.copied
    let text =
      "copied \(ByteCount.counted(copied.snapshots, "snapshot")) (\(ByteCount.files(copied.files)), "
      + "\(ByteCount.text(Int64(clamping: copied.bytes)))) to \(TerminalText.string(remote.bytes))"
      + (copied.equal > 0 ? ", \(ByteCount.files(copied.equal)) there already" : "")
      + (result.protected == 0
        ? "" : ", recovery data made of \(ByteCount.files(result.protected)) there")
      + (result.removed.isEmpty
        ? ""
        : ", \(ByteCount.grouped(result.removed.count)) old \(result.removed.count == 1 ? "copy" : "copies") removed")
      + (result.compacted.isEmpty
        ? "" : ", \(ByteCount.counted(result.compacted.count, "archive")) there compacted")
    return (text, outcome.verdict)
  }
}
