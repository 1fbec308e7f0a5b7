import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// What is known without keys about how much of an encrypted archive is needed.
@Suite struct CompactionNeedsTests {
  private static let stamps = ["20261101T020000Z", "20261102T020000Z", "20261103T020000Z"]

  private func footer(_ needs: [(String, UInt64)]) -> SnapshotFooter {
    var footer = SnapshotFooter()
    for (stamp, bytes) in needs { footer.needs[stamp] = .init(files: 1, bytes: bytes) }
    return footer
  }

  private func header(_ name: SnapshotName) -> SnapshotHeader {
    SnapshotHeader(
      name: name, sequence: 1, started: FileStatus.Time(seconds: 0, nanoseconds: 0), increment: 0)
  }

  @Test(
    "archives without a manifest of which the snapshots need less than a part",
    arguments: [
      ([40, 100], 50, [0]), ([50, 100], 50, []), ([10, 9], 50, [0, 1]), ([10, 9], 10, [1]), ([0, 0], 0, []),
    ] as [([UInt64], Int, [Int])])
  func littleNeeded(bytes: [UInt64], least: Int, expected: [Int]) throws {
    let t = try TreeFixture()
    let set = try BackupSet(in: t.root, named: "s")
    var content = BackupSet.Content()
    let digest = try Digest.sha256(of: [1])
    let names = Self.stamps.map { SnapshotName(set: "s", stamp: $0, isEncrypted: true) }
    for (number, name) in names.enumerated() {
      content.archives[name] = 70
      let companion = Companion(
        header(name), footer([(name.stamp, 100)]), archive: (70, digest), manifest: (9, digest))
      try t.file(name.companion, companion.bytes())
      guard number == 2 else { continue }
      content.snapshots = [
        Snapshot(name: name, header: header(name), footer: companion.footer, companion: companion)
      ]
    }
    let needs = [
      footer([(Self.stamps[0], bytes[0]), (Self.stamps[2], 1)]),
      footer([(Self.stamps[0], bytes[0] / 2), (Self.stamps[1], bytes[1]), (Self.stamps[2], 1)]),
    ]
    // The archive with a manifest never counts.
    #expect(
      set.archives(neededLessThan: least, by: needs, in: content) == Set(expected.map { Self.stamps[$0] }))
  }
}
