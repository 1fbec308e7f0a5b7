import BatchCore
import BatchEngine

/// What recovery data can do for a damaged archive.
extension VerifyCommand {
  /// Says whether recovery data beside a damaged archive suffice to repair it.
  ///
  /// - Returns: the ending of the verification.
  func adviseRepair(of path: PathBytes, after ending: Ending) -> Ending {
    guard case .exit(.differences) = ending, !common.quiet, !common.json else { return ending }
    let run = RunContext(sharing: session.context, stride: .automatic, observer: nil)
    let outcome = try? ParityVerifyCall(path).perform(.items([]), in: run, watchedBy: Unwatched()) { _ in }
    guard let found = outcome?.result, found.damaged > 0 else { return ending }
    let name = TerminalText.string(path.bytes)
    let needed = "\(found.missingBlocks) of \(ByteCount.counted(found.recoveryBlocks, "recovery block"))"
    session.diagnostics.report(
      found.isRepairable
        ? "\(name): repairable, with \(needed): 'batchproc repair \(name)'"
        : "\(name): not repairable: needs \(needed)", as: .note)
    return ending
  }

  /// Reads the recovery data of a set, and reports those that are damaged.
  func verifyParity(of set: BackupSet, _ tally: inout SetTally) throws(BatchError) {
    for path in try set.damagedParity(in: session.context) {
      tally.problems += 1
      session.fail(
        BatchError(
          .malformed, "is damaged; what is whole in it can still be used", path: path, remedy: .makeParity))
    }
  }
}
