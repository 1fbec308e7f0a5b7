import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// What verifications add to the results of drills.
@Suite struct DamageRecordTests {
  private static let archive = SnapshotName(set: "s", stamp: "20260101T000000Z")
  private static let sealed = SnapshotName(set: "s", stamp: "20260102T000000Z", isEncrypted: true)
  private let t: TreeFixture
  private let set: BackupSet

  init() throws {
    t = try TreeFixture()
    try t.folder("set")
    var set = try BackupSet(in: t.path("set"), named: "s")
    set.privateFolder = StatePlace(t.path("private"))
    self.set = set
    try t.file("set/.s.id", String(repeating: "a", count: 32) + "\n")
  }

  private func record(_ body: (DamageRecord) -> Void) throws -> FoundDamage {
    let record = try DamageRecord(of: set)
    body(record)
    try record.save(isSynced: false, in: RunContext())
    return try set.foundDamage()
  }

  private static func entry(
    _ path: PathBytes, in archive: SnapshotName = archive, first: PathBytes? = nil
  ) -> SnapshotEntry {
    var entry = SnapshotEntry(kind: .file, path: path, archive: archive.stamp)
    entry.firstName = first
    return entry
  }

  @Test("damaged members are those of the archive alone, with the further names of their files")
  func members() throws {
    let found = try record {
      $0.note("a", in: Self.archive, isDamaged: true)
      $0.note("b", in: Self.archive, isDamaged: false)
    }
    #expect(found.suspects == [Self.archive.stamp])
    #expect(found.contains(Self.entry("a")) && found.contains(Self.entry("c", first: "a")))
    #expect(!found.contains(Self.entry("b")) && !found.contains(Self.entry("a", in: Self.sealed)))
  }

  @Test("damage at an unknown place is damage of all members, until the whole archive was read")
  func vague() throws {
    let found = try record { $0.note(damageOf: Self.archive) }
    #expect(found.contains(Self.entry("a")))
    #expect(try record { $0.note("a", in: Self.archive, isDamaged: false) }.contains(Self.entry("a")))
    let read = try record {
      $0.note("b", in: Self.archive, isDamaged: true)
      $0.note(readingOf: Self.archive)
    }
    #expect(!read.contains(Self.entry("a")) && read.contains(Self.entry("b")))
    #expect(try record { $0.note("b", in: Self.archive, isDamaged: false) }.suspects.isEmpty)
  }

  @Test(
    "a digest in a companion clears what a drill found only if the archive was read back",
    arguments: [true, false])
  func digest(isVerified: Bool) throws {
    _ = try record { $0.note("a", in: Self.sealed, isDamaged: true) }
    #expect(!t.exists("set/.s.drill"))
    var footer = SnapshotFooter()
    footer.isVerified = isVerified
    let header = SnapshotHeader(
      name: Self.sealed, sequence: 1, started: FileStatus.Time(seconds: 0, nanoseconds: 0), increment: 0)
    let digest = try DigestStream(.sha256).finish()
    let companion = Companion(header, footer, archive: (1, digest), manifest: (1, digest))
    let found = try record { $0.note(sameDigestOf: Self.sealed, companion) }
    #expect(found.suspects.isEmpty == isVerified)
  }

  @Test("nothing is written if nothing was found, and what a drill wrote meanwhile stays")
  func unchanged() throws {
    _ = try record { $0.note("a", in: Self.archive, isDamaged: false) }
    #expect(!t.exists("set/.s.drill"))
    let found = try record { record in
      record.note("a", in: Self.archive, isDamaged: true)
      var drill = DrillState()
      drill.note("b", in: Self.archive.stamp, isDamaged: true)
      _ = try? t.file("set/.s.drill", drill.lines)
    }
    #expect(found.contains(Self.entry("a")) && found.contains(Self.entry("b")))
  }
}
