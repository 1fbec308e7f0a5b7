import BatchCore
import BatchEngine
import Foundation
import Testing

@testable import batchproc

@Suite struct SetPageTests {
  static func row(
    _ number: Int, faults: [String] = [], damage: FoundDamage.Extent? = nil
  ) -> SetFacts.Row {
    SetFacts.Row(
      id: "20260101T0000\(number % 60 < 10 ? "0" : "")\(number % 60)Z",
      started: 1_767_225_600 + Int64(number) * 86_400,
      increment: UInt64(number % 7), files: 44_128, bytes: 5 << 30, newFiles: UInt64(number * 31 % 900),
      newBytes: UInt64(number) << 22, archiveBytes: number % 7 == 0 ? 2 << 30 : UInt64(number) << 20,
      isVerified: true, faults: faults,
      damage: damage)
  }

  private func page(_ sets: [SetFacts]) throws -> String {
    String(decoding: try SetPage(directory: "/mnt", sets: sets, now: 1_780_000_000).html(), as: UTF8.self)
  }

  @Test func aHundredSnapshotsAreOnePageBelowAMegabyte() throws {
    let rows = (0..<100).map { Self.row($0) }
    let page = try page([SetFacts(name: "home", rows: rows, archives: 100, archiveBytes: 30 << 30)])
    #expect(page.utf8.count < 1_000_000)
    #expect(page.matches(of: /<tr>/).count == 103)
    #expect(
      page.contains("<span class=\"value\">100</span><span class=\"note\">15 full, 85 incremental</span>"))
    #expect(page.contains("usually one is made every 1d00h."))
    #expect(page.contains("no snapshot was restored to test it"))
  }

  @Test func everySetHasItsSection() throws {
    let sets = ["a<b", "café"].map {
      SetFacts(
        name: PathBytes($0), rows: [Self.row(1), Self.row(2)], archives: 2, archiveBytes: 2,
        lastDrill: 1_767_300_000)
    }
    let page = try page(sets)
    #expect(page.contains(">a&lt;b</bdi></h2>") && page.contains(">café</bdi></h2>"))
    let ids = page.matches(of: /id="([^"]*)"/).map { String($0.output.1) }
    #expect(Set(ids).count == ids.count && ids.count == 10)
    // One snapshot is not enough for a chart.
    let single = SetFacts(name: "s", rows: [Self.row(1)], archives: 1, archiveBytes: 1)
    #expect(try !self.page([single]).contains("<svg"))
  }

  /// Snapshots that were made this many hours before the page.
  private static func set(hoursAgo: [Int], drill: Int64? = nil) -> SetFacts {
    let rows = hoursAgo.enumerated().map { index, hours in
      let row = Self.row(index)
      return SetFacts.Row(
        id: row.id, started: 1_780_000_000 - Int64(hours) * 3600, increment: row.increment, files: 1,
        bytes: 1,
        newFiles: 1, newBytes: 1, archiveBytes: 1, isVerified: true, faults: [], damage: nil)
    }
    return SetFacts(name: "s", rows: rows, archives: 1, archiveBytes: 1, lastDrill: drill)
  }

  @Test(
    "the age of the newest snapshot is judged against the usual interval",
    arguments: [
      ([96, 72, 48, 24], false), ([120, 96, 72, 48], true), ([4, 3, 2], false), ([7, 6, 5, 4], true),
      ([3, 2, 1, 0], false), ([2000], false), ([720, 719, 718, 717], true),
    ] as [([Int], Bool)])
  func age(hoursAgo: [Int], isLate: Bool) throws {
    let set = Self.set(hoursAgo: hoursAgo)
    #expect(set.isLate(at: 1_780_000_000) == isLate)
    let page = try page([set])
    #expect(page.contains("no new snapshot for longer than usual") == isLate)
    #expect(page.contains("but the newest snapshot is of") == isLate)
    #expect(!page.contains(" ago"))
  }

  @Test func theOverviewNamesTheMachineTheFolderAndEachSet() throws {
    let sets = [Self.set(hoursAgo: [50, 26, 2], drill: 1_779_990_000), Self.set(hoursAgo: [1, 1])]
    let page = String(
      decoding: try SetPage(directory: "/mnt/b", host: "web<1>", sets: sets, now: 1_780_000_000).html(),
      as: UTF8.self)
    #expect(page.contains("web&lt;1&gt;: <bdi class=\"name\">/mnt/b</bdi>"))
    #expect(page.contains("<a href=\"#s0\">") && page.contains("<section id=\"s1\">"))
    #expect(
      page.contains("<span class=\"warn\">none</span>")
        && page.contains("<span class=\"value warn\">none</span>"))
    // The marks of two snapshots within one minute show seconds.
    #expect(page.matches(of: /text-anchor="(start|end)">[0-9]{2}:[0-9]{2}:[0-9]{2}</).count == 4)
  }

  @Test func problemsAreShown() throws {
    let damaged = BatchError(.malformed, "the backup manifest is cut short", path: "/mnt/<x>.manifest")
    let rows = [
      Self.row(1), Self.row(2, faults: ["20251231T000000Z"]), Self.row(3, damage: .init(files: 7)),
      Self.row(4, damage: .init(files: nil)),
    ]
    let set = SetFacts(name: "s", rows: rows, damaged: [damaged], archives: 2, archiveBytes: 9, suspects: 1)
    #expect(!set.isWhole)
    let page = try page([set])
    #expect(page.contains("1 snapshot cannot be restored"))
    #expect(page.contains("archive missing or altered: 20251231T000000Z"))
    #expect(page.contains(">damaged (7 files)<") && page.contains(">damaged<"))
    #expect(page.contains(#"<bdi class="name">/mnt/&lt;x&gt;.manifest</bdi>"#))
    let unreadable = try self.page([
      SetFacts(name: "s", rows: [], damaged: [damaged], archives: 0, archiveBytes: 0)
    ])
    #expect(unreadable.contains("Some manifests are not valid."))
  }
}
