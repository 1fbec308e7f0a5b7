import BatchEngine
import Synchronization

/// Collects what a verification finds in the archives of a set, and adds it to the results of drills.
///
/// Nothing is written if nothing has changed: the set may be on a medium that is read-only.
package final class DamageRecord: Sendable {
  private struct Findings {
    var damage: [Bool: DrillState] = [:]
    /// Archives that were read to the end, whose earlier damage does not count any more.
    var replaced: [Bool: Set<String>] = [:]
    /// Members with recorded damage that are whole.
    var whole: [Bool: [(path: PathBytes, archive: String)]] = [:]
  }

  private let set: BackupSet
  /// The results before the verification.
  private let known: [Bool: DrillState]
  private let findings = Mutex(Findings())

  /// - Throws: the error of reading the results of drills.
  package init(of set: BackupSet) throws(BatchError) {
    self.set = set
    var known: [Bool: DrillState] = [:]
    for isEncrypted in [false, true] {
      if let path = set.drillPath(isEncrypted: isEncrypted) { known[isEncrypted] = try DrillState(path) }
    }
    self.known = known
  }

  /// Records the result for a member of an archive.
  package func note(_ path: PathBytes, in archive: SnapshotName, isDamaged: Bool) {
    let isSuspect = known[archive.isEncrypted]?.suspects.contains(archive.stamp) == true
    guard isDamaged || isSuspect else { return }
    findings.withLock { findings in
      if isDamaged {
        findings.damage[archive.isEncrypted, default: DrillState()].note(
          path, in: archive.stamp, isDamaged: true)
      } else if known[archive.isEncrypted]?.has(path, in: archive.stamp) == true {
        findings.whole[archive.isEncrypted, default: []].append((path, archive.stamp))
      }
    }
  }

  /// Records that an archive is damaged at an unknown place.
  package func note(damageOf archive: SnapshotName) {
    findings.withLock {
      $0.damage[archive.isEncrypted, default: DrillState()].note(damageOf: archive.stamp)
    }
  }

  /// Records that all of an archive was read: only damage that was found in this verification remains.
  package func note(readingOf archive: SnapshotName) {
    guard known[archive.isEncrypted]?.suspects.contains(archive.stamp) == true else { return }
    findings.withLock { _ = $0.replaced[archive.isEncrypted, default: []].insert(archive.stamp) }
  }

  /// Records that an archive has the digest in its companion. That proves its content only if it was read back when it was
  /// written; otherwise the damage that a drill found in certain files remains.
  package func note(sameDigestOf archive: SnapshotName, _ companion: Companion) {
    guard companion.isVerified || known[archive.isEncrypted]?.hasPaths(in: archive.stamp) != true else {
      return
    }
    note(readingOf: archive)
  }

  /// - Throws: `unwritable`, or the error of reading the results of drills.
  package func save(isSynced: Bool, in run: RunContext) throws(BatchError) {
    let findings = findings.withLock { $0 }
    for isEncrypted in [false, true] {
      guard let path = set.drillPath(isEncrypted: isEncrypted) else { continue }
      // A drill may have written results meanwhile.
      var state = try DrillState(path)
      let before = state.lines
      for archive in findings.replaced[isEncrypted] ?? [] { state.forget(archive) }
      for (path, archive) in findings.whole[isEncrypted] ?? [] {
        state.note(path, in: archive, isDamaged: false)
      }
      if let found = findings.damage[isEncrypted] { state.merge(found) }
      if state.lines != before {
        try state.write(to: path, isPrivate: isEncrypted, isSynced: isSynced, in: run)
      }
    }
  }
}
