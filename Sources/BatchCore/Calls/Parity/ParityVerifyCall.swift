import BatchEngine

/// Compares files with their recovery data, and may rebuild the damaged ones.
package struct ParityVerifyCall: Call {
  /// What is reported of a file.
  package enum Report: Sendable {
    case file(ParityInspection.File)
    /// A file with recovery data that is not whole.
    case damagedVolume(PathBytes)
    case repaired(ParityRepair.Repaired)
    /// Why a file is not repaired: too few blocks are left, or the recovery data belong to another version of it.
    case refused(BatchError)
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
  /// The keys for encrypted archives, which are proved by them; nil without.
  package var keys: AgeKeys?
  /// What is known about the files of a backup set; nil for what the indexes of archives say.
  var proof: Proof?

  /// Decides about a file by more than the recovery data.
  struct Proof {
    /// What identifies the content of a file that differs from the recovery data, such as an index that is whole; nil if nothing does.
    let identity: (consuming Descriptor, PathBytes) throws(BatchError) -> Digest?
    /// Whether such a file is whole by itself.
    let isWhole: (consuming Descriptor, PathBytes) throws(BatchError) -> Bool
    /// The same of a rebuilt file; nil if nothing is known. Throws the error for which it must not get its name.
    let check: (consuming Descriptor, PathBytes) throws(BatchError) -> Digest?
  }

  /// - Parameter path: of a protected file, or of a file with recovery data.
  package init(_ path: PathBytes) { self.path = path }

  package var limits: CallLimits {
    CallLimits(inputs: 8 + (isRepairing ? ParityRepair.descriptors : 0), isFixed: true)
  }

  /// What was found.
  package struct Result: CallResult {
    package fileprivate(set) var files = 0
    package fileprivate(set) var damaged = 0
    package fileprivate(set) var repaired = 0
    /// Archives that were not repaired, since they are whole by themselves.
    package fileprivate(set) var refused = 0
    package fileprivate(set) var blockCount = 0
    package fileprivate(set) var missingBlocks = 0
    package fileprivate(set) var recoveryBlocks = 0
    package fileprivate(set) var damagedVolumes = 0
    package fileprivate(set) var isRepairable = true

    package var findings: [String: Int] {
      [
        "different": damaged > repaired + refused || (damagedVolumes > 0 && repaired == 0) ? 1 : 0,
        "refused": refused, "repaired": repaired,
      ]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func count(_ finding: String) -> Int { tally.findings[finding] ?? 0 }
    return CallVerdict().adding(.differences, if: count("different") > 0)
      .adding(.someFailed, if: count("refused") > 0)
      .adding(.nothing, if: count("refused") > 0 && count("repaired") == 0)
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
      guard isRepairing, !found.isWhole else { return result }
      let proof = proof ?? ownProof(in: run)
      let known = try identities(of: found, by: proof, in: run)
      var spared: Set<Int> = []
      func spare(_ index: Int) throws(BatchError) {
        guard spared.insert(index).inserted else { return }
        result.refused += 1
        try report(.refused(Self.otherVersion(found.files[index].path)))
      }
      if !found.isRepairable {
        for index in known.keys.sorted()
        where try proof.isWhole(found.open(index, in: run), found.files[index].path) { try spare(index) }
        if let error = found.tooFew, result.damaged > spared.count { try report(.refused(error)) }
      }
      while found.isRepairable, result.damaged > spared.count {
        var other: Int?
        do throws(BatchError) {
          let repair = ParityRepair(found, keepsDamaged: keepsDamaged, isSynced: isSynced, in: run)
          let repaired = try repair.repair(sparing: spared) { (opened, path) throws(BatchError) in
            let digest = try proof.check(opened, path)
            guard let index = found.files.firstIndex(where: { $0.path == path }), let own = known[index],
              own != digest
            else { return }
            other = index
            throw Self.otherVersion(path)
          }
          for file in repaired {
            result.repaired += 1
            try report(.repaired(file))
          }
          break
        } catch {
          // Nothing was replaced yet, unless there are many files; those are whole when they are examined again.
          guard let index = other else { throw error }
          try spare(index)
        }
      }
      return result
    }
  }

  /// An archive is not damaged because it is not the one that the recovery data describe: it may have been written again.
  private static func otherVersion(_ path: PathBytes) -> BatchError {
    BatchError(
      .invalid,
      "is not repaired: its index is not the one that the recovery data describe, so they belong to another version of it",
      path: path, remedy: .makeParity)
  }

  /// The identities of the files that differ from the recovery data.
  private func identities(
    of found: ParityInspection, by proof: Proof, in run: RunContext
  ) throws(BatchError) -> [Int: Digest] {
    var known: [Int: Digest] = [:]
    for (index, file) in found.files.enumerated() where file.state == .damaged {
      known[index] = try proof.identity(found.open(index, in: run), file.path)
    }
    return known
  }

  /// By the index of an archive.
  private func ownProof(in run: RunContext) -> Proof {
    let readBack = ArchiveReadBack(isSynced: false, run: run)
    return Proof { [keys] (opened, path) throws(BatchError) in
      try readBack.index(of: opened, path, keys)
    } isWhole: { [keys] (opened, path) throws(BatchError) in
      try readBack.wholeIndex(of: opened, path, keys) != nil
    } check: { [keys] (opened, path) throws(BatchError) in
      try readBack.provenIndex(of: opened, path, keys)
    }
  }
}
