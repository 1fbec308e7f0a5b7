import BatchEngine

/// Compares files with their recovery data, and may rebuild the damaged ones.
package struct ParityVerifyCall: Call {
  /// What is reported of a file.
  package enum Report: Sendable {
    case file(ParityInspection.File)
    /// A file with recovery data that is not whole.
    case damagedVolume(PathBytes)
    case repaired(ParityRepair.Repaired)
  }

  private let path: PathBytes
  /// The folder in which the names in the recovery data begin; nil for that of `path`.
  package var base: PathBytes?
  /// Further files in which blocks are searched.
  package var extra: [PathBytes] = []
  /// Whether damaged files are rebuilt.
  package var isRepairing = false
  /// Whether a damaged file that is replaced is kept under another name.
  package var keepsDamaged = true
  package var isSynced = true

  /// - Parameter path: of a protected file, or of a file with recovery data.
  package init(_ path: PathBytes) { self.path = path }

  package var limits: CallLimits { CallLimits(inputs: 8 + (isRepairing ? 64 : 0), isFixed: true) }

  /// What was found.
  package struct Result: CallResult {
    package fileprivate(set) var files = 0
    package fileprivate(set) var damaged = 0
    package fileprivate(set) var repaired = 0
    package fileprivate(set) var blockCount = 0
    package fileprivate(set) var missingBlocks = 0
    package fileprivate(set) var recoveryBlocks = 0
    package fileprivate(set) var damagedVolumes = 0
    package fileprivate(set) var isRepairable = true

    package var findings: [String: Int] {
      ["different": damaged > repaired || (damagedVolumes > 0 && repaired == 0) ? 1 : 0]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict().adding(.differences, if: (tally.findings["different"] ?? 0) > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    Prepared { () throws(BatchError) in
      let archive = try ParityArchive(of: path, below: base, in: run)
      if isRepairing { StaleTemporaries.remove(in: base ?? path.parent, calls: run.calls) }
      for volume in archive.damagedVolumes { try report(.damagedVolume(volume)) }
      let found = try ParityInspection(archive, extra: extra, in: run)
      var result = Result()
      result.files = found.files.count
      result.damaged = found.files.count { $0.state != .whole }
      (result.blockCount, result.missingBlocks) = (archive.set.blockCount, found.missingCount)
      (result.recoveryBlocks, result.damagedVolumes) = (found.recoveryCount, archive.damagedVolumes.count)
      result.isRepairable = found.isRepairable
      for file in found.files {
        run.counters.addDone()
        try report(.file(file))
      }
      guard isRepairing, !found.isWhole, found.isRepairable else { return result }
      let repair = ParityRepair(found, keepsDamaged: keepsDamaged, isSynced: isSynced, in: run)
      for file in try repair.repair() {
        result.repaired += 1
        try report(.repaired(file))
      }
      return result
    }
  }
}
