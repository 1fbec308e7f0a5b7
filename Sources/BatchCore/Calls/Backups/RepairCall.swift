import BatchEngine
import Synchronization

/// Repairs the damaged archives and manifests of a set by their recovery data, and rebuilds missing ones. Needs no key.
package struct RepairCall: Call {
  private let open: (RunContext) throws(BatchError) -> BackupSet
  /// The only file that is repaired; nil for all of the set.
  package var only: PathBytes?
  /// Whether a damaged file that is replaced is kept under another name.
  package var keepsDamaged = true
  package var isSynced = true
  /// How long to wait while another run writes to the set.
  package var patience = SetLock.Patience.none

  /// - Parameter open: opens the set; called once.
  package init(of open: @escaping (RunContext) throws(BatchError) -> BackupSet) { self.open = open }

  package var limits: CallLimits {
    CallLimits(inputs: 12 + ParityRepair.descriptors, isFixed: true)
  }

  package enum Report: Sendable {
    case file(ParityVerifyCall.Report)
    /// A file that could not be repaired.
    case failed(BatchError)
    /// A file that is whole, and whose damaged recovery data were made again.
    case remade(PathBytes)
  }

  package struct Result: CallResult {
    /// Files that have recovery data.
    package fileprivate(set) var files = 0
    package fileprivate(set) var damaged = 0
    package fileprivate(set) var repaired = 0
    /// Files that are damaged or missing still, and files without recovery data that are missing.
    package fileprivate(set) var failed = 0
    /// Archives that the recovery data do not describe, although they are whole.
    package fileprivate(set) var refused = 0
    package fileprivate(set) var damagedVolumes = 0

    package var findings: [String: Int] {
      ["failed": failed, "refused": refused, "volumes": damagedVolumes, "repaired": repaired]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func count(_ finding: String) -> Int { tally.findings[finding] ?? 0 }
    return CallVerdict()
      .adding(.differences, if: count("failed") + count("volumes") > 0)
      .adding(.someFailed, if: count("refused") > 0)
  }

  /// - Throws: the error of opening the set; `locked` when another run writes to it.
  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let set = try open(run)
    let lock = try set.lockForPruning(patience, in: run)
    return Prepared { () throws(BatchError) in
      defer { withExtendedLifetime(lock) {} }
      var result = Result()
      let work = Work(call: self, set: set, run: run, report: report)
      // The archives that snapshots need are known by their manifests alone.
      try work.repairManifests(&result)
      try work.repairArchives(&result)
      return result
    }
  }

  /// The steps of one run.
  private struct Work {
    let call: RepairCall
    let set: BackupSet
    let run: RunContext
    let report: @Sendable (Report) throws(BatchError) -> Void

    func takes(_ file: PathBytes) -> Bool { call.only.map { $0 == file } ?? true }

    func repairManifests(_ result: inout Result) throws(BatchError) {
      let archives = try set.content(in: run).archives
      for file in try SetParity(set, in: run).protected where takes(file) {
        guard let name = SnapshotName.of(file), name.set == set.name, name.manifest == file,
          // Without its archive it is left of a snapshot that was removed.
          archives[name] != nil || (try? set.path(file).status()) != nil
        else { continue }
        try repair(
          file,
          by: ParityVerifyCall.Proof { (_, _) in
            nil
          } isWhole: { (_, _) in
            false
          } check: { (opened, path) throws(BatchError) in
            guard let companion = try set.companion(of: name) else { return nil }
            let digest = try Self.digest(of: opened, path, run)
            guard digest == companion.manifestDigest else { throw Self.otherDigest(path) }
            return digest
          }, &result)
      }
    }

    func repairArchives(_ result: inout Result) throws(BatchError) {
      let content = try set.content(in: run)
      let all = content.snapshots + content.cut
      let own = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
      let needed = all.reduce(into: Set<SnapshotName>()) { $0.formUnion($1.archives) }
      let parity = try SetParity(set, in: run)
      for error in content.damaged where call.only == nil {
        result.failed += 1
        try report(.failed(error))
      }
      let record = try? DamageRecord(of: set)
      for name in needed.union(content.archives.keys).sorted(by: {
        ($0.stamp, $0.archive) < ($1.stamp, $1.archive)
      })
      where takes(name.archive) {
        guard try !parity.own(name.archive).isEmpty else {
          if content.archives[name] == nil {
            result.failed += 1
            try report(
              .failed(
                BatchError(
                  .missing, "is missing, and has no recovery data", path: set.path(name.archive))))
          }
          continue
        }
        if try repair(name.archive, by: proof(of: name, own[name], among: all), &result) {
          record?.note(readingOf: name)
        }
      }
      do throws(BatchError) {
        try record?.save(isSynced: call.isSynced, in: run)
      } catch {
        try run.cancellation.check()
        run.report(Problem(.unreadable, error), severity: .warning)
      }
    }

    /// - Returns: whether the file was repaired.
    @discardableResult
    private func repair(
      _ file: PathBytes, by proof: ParityVerifyCall.Proof, _ result: inout Result
    ) throws(BatchError) -> Bool {
      result.files += 1
      var verify = ParityVerifyCall(set.path(file))
      (verify.isRepairing, verify.keepsDamaged, verify.isSynced) = (true, call.keepsDamaged, call.isSynced)
      verify.proof = proof
      let unreported = Mutex<BatchError?>(nil)
      do throws(BatchError) {
        let context = RunContext(sharing: run, stride: .automatic, observer: nil)
        let outcome = try verify.perform(.items([]), in: context, watchedBy: Unwatched()) {
          [report] (row) throws(BatchError) in
          do throws(BatchError) {
            try report(.file(row))
          } catch {
            unreported.withLock { $0 = error }
            throw error
          }
        }
        if let stopped = outcome.summary.stopped ?? outcome.failure { throw stopped }
        guard let found = outcome.result else { return false }
        result.damaged += found.damaged
        result.repaired += found.repaired
        result.refused += found.refused
        if found.damagedVolumes > 0, found.damaged == found.repaired,
          try SetParity(set, in: run).makeAgain(file, shown: set.path(file), isSynced: call.isSynced)
        {
          try report(.remade(set.path(file)))
        } else {
          result.damagedVolumes += found.damagedVolumes
        }
        result.failed += found.damaged - found.repaired - found.refused
        return found.repaired > 0
      } catch {
        try run.cancellation.check()
        // An output that takes no reports is no fault of the file, which may be repaired by now.
        if let unreported = unreported.withLock({ $0 }) { throw unreported }
        guard error.code != .cancelled, !error.isOutOfSpace else { throw error }
        result.failed += 1
        try report(.failed(error.path == nil ? error.at(set.path(file)) : error))
        return false
      }
    }

    /// By the manifest of an archive, the rows that need it, or its companion.
    private func proof(
      of name: SnapshotName, _ snapshot: Snapshot?, among all: [Snapshot]
    ) -> ParityVerifyCall.Proof {
      let (set, run) = (set, run)
      guard !name.isEncrypted else {
        return ParityVerifyCall.Proof { (opened, path) throws(BatchError) in
          let digest = try Self.digest(of: opened, path, run)
          return try set.companion(of: name)?.archives.contains { $0.digest == digest } == true ? digest : nil
        } isWhole: { (_, _) in
          true
        } check: { (opened, path) throws(BatchError) in
          guard let companion = try set.companion(of: name) else { return nil }
          let digest = try Self.digest(of: opened, path, run)
          guard companion.archives.contains(where: { $0.digest == digest }) else {
            throw Self.otherDigest(path)
          }
          return digest
        }
      }
      let readBack = ArchiveReadBack(isSynced: false, run: run)
      return ParityVerifyCall.Proof { (opened, path) throws(BatchError) in
        try readBack.index(of: opened, path)
      } isWhole: { (opened, path) throws(BatchError) in
        try readBack.wholeIndex(of: opened, path) != nil
      } check: { (opened, path) throws(BatchError) in
        let digest = try readBack.provenIndex(of: opened, path)
        if let index = snapshot?.footer.index, digest != index {
          throw BatchError(
            .malformed, "cannot be repaired: the recovery data belong to another archive than its manifest",
            path: path)
        }
        return digest
      }
    }

    private static func otherDigest(_ path: PathBytes) -> BatchError {
      BatchError(
        .malformed, "cannot be repaired: what was rebuilt has another digest than its companion records",
        path: path)
    }

    private static func digest(
      of opened: consuming Descriptor, _ path: PathBytes, _ run: RunContext
    ) throws(BatchError) -> Digest {
      let digest = try DigestStream(.sha256)
      let buffer = try ScratchBuffer(capacity: 1 << 20)
      var offset: UInt64 = 0
      while true {
        try run.cancellation.check()
        let count = try run.calls.fill(buffer.room, from: opened.raw, at: offset, path: path)
        guard count > 0 else { return try digest.finish() }
        try digest.update(UnsafeRawBufferPointer(rebasing: buffer.room[..<count]))
        offset += UInt64(count)
      }
    }
  }
}
