import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Which snapshots count as the newest verified one.
@Suite struct PruneTrustTests {
  private static let now: Int64 = 1_780_000_000

  /// Which of snapshots with these numbers `--keep-last 1` keeps; each began an hour after the one before.
  private func kept(
    _ sequences: [UInt64], encrypted: Bool = true, opened: Bool = false, known: Swift.Set<UInt64> = [],
    future: Swift.Set<UInt64> = []
  ) throws -> [UInt64: [Prune.Reason]] {
    let set = try BackupSet(in: "/nowhere", named: "s")
    var content = BackupSet.Content()
    var stamps: Swift.Set<String> = []
    for (index, sequence) in sequences.enumerated() {
      let time = Self.now + (future.contains(sequence) ? 86_400 : -86_400) + Int64(index) * 3600
      let name = SnapshotName(set: "s", seconds: time, isEncrypted: encrypted)
      if known.contains(sequence) { stamps.insert(name.stamp) }
      var footer = SnapshotFooter()
      footer.isVerified = true
      footer.needs = [name.stamp: .init()]
      if opened { footer.rows = 1 }
      let header = SnapshotHeader(
        name: name, sequence: sequence, started: FileStatus.Time(seconds: time, nanoseconds: 0), increment: 0)
      let digest = try DigestStream(.sha256).finish()
      content.archives[name] = 0
      content.snapshots.append(
        Snapshot(
          name: name, header: header, footer: footer,
          companion: encrypted ? Companion(header, footer, archive: (0, digest), manifest: (0, digest)) : nil)
      )
    }
    let prune = Prune(
      Retention(counts: [.last: 1]), of: set, content, suspects: [], known: stamps, now: Self.now)
    return prune.decisions.filter { !$0.reasons.isEmpty }.reduce(into: [:]) {
      $0[$1.snapshot.header.sequence] = $1.reasons
    }
  }

  @Test("a number that skips, and all after it, do not count as verified without a key")
  func gap() throws {
    #expect(try kept([1, 2, 3]) == [3: [.rule(.last), .newestVerified]])
    #expect(try kept([1, 2, 99]) == [99: [.rule(.last)], 2: [.newestComplete, .newestVerified]])
    #expect(try kept([1, 2, 99, 100]) == [100: [.rule(.last)], 2: [.newestComplete, .newestVerified]])
    #expect(try kept([1, 2, 99], opened: true) == [99: [.rule(.last), .newestVerified]])
    #expect(try kept([1, 2, 99], encrypted: false) == [99: [.rule(.last), .newestVerified]])
  }

  @Test("a snapshot from the future does not count as verified", arguments: [true, false])
  func future(encrypted: Bool) throws {
    let kept = try kept([1, 2, 3], encrypted: encrypted, future: [3])
    #expect(kept == [2: [.rule(.last), .newestVerified], 3: [.future]])
  }

  @Test("the newest snapshot that this machine knows stays, and counts as verified also after a gap")
  func known() throws {
    #expect(try kept([1, 2, 3], known: [2])[2] == [.newestKnown])
    #expect(
      try kept([1, 2, 9, 10], known: [9]) == [10: [.rule(.last)], 9: [.newestComplete, .newestVerified]])
    #expect(try kept([1, 2, 9], known: [9]) == [9: [.rule(.last), .newestVerified]])
  }
}
