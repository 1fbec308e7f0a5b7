import BatchEngine
import Foundation
import Testing

@testable import batchproc

@Suite struct SetPageTests {
  static func row(_ number: Int, faults: [String] = [], suspects: [String] = []) -> SetFacts.Row {
    SetFacts.Row(
      id: "20260101T0000\(number % 60 < 10 ? "0" : "")\(number % 60)Z",
      started: 1_767_225_600 + Int64(number) * 86_400,
      increment: UInt64(number % 7), files: 44_128, bytes: 5 << 30, newFiles: UInt64(number * 31 % 900),
      newBytes: UInt64(number) << 22, archiveBytes: number % 7 == 0 ? 2 << 30 : UInt64(number) << 20,
      isVerified: true, faults: faults,
      suspects: suspects)
  }

  private func page(_ sets: [SetFacts]) throws -> String {
    String(decoding: try SetPage(directory: "/mnt", sets: sets, now: 1_780_000_000).html(), as: UTF8.self)
  }

  @Test func aHundredSnapshotsAreOnePageBelowAMegabyte() throws {
    let rows = (0..<100).map { Self.row($0) }
    let page = try page([SetFacts(name: "home", rows: rows, archives: 100, archiveBytes: 30 << 30)])
    #expect(page.utf8.count < 1_000_000)
    #expect(page.matches(of: /<tr>/).count == 101)
    #expect(
      page.contains("<span class=\"value\">100</span><span class=\"note\">15 full, 85 incremental</span>"))
    #expect(page.contains("all were read back when they were made"))
    #expect(page.contains("no snapshot was restored to test it"))
  }

  @Test func everySetHasItsSection() throws {
    let sets = ["a<b", "café"].map {
      SetFacts(
        name: PathBytes($0), rows: [Self.row(1)], archives: 1, archiveBytes: 1, lastDrill: 1_767_300_000)
    }
    let page = try page(sets)
    #expect(page.contains(">a&lt;b</bdi></h2>") && page.contains(">café</bdi></h2>"))
    let ids = page.matches(of: /id="([^"]*)"/).map { String($0.output.1) }
    #expect(Set(ids).count == ids.count && ids.count == 8)
  }

  @Test func whatIsWrongIsSaid() throws {
    let damaged = BatchError(.malformed, "the backup manifest is cut short", path: "/mnt/<x>.manifest")
    let rows = [
      Self.row(1), Self.row(2, faults: ["20251231T000000Z"]), Self.row(3, suspects: ["20260101T000001Z"]),
    ]
    let set = SetFacts(name: "s", rows: rows, damaged: [damaged], archives: 2, archiveBytes: 9, suspects: 1)
    #expect(!set.isWhole)
    let page = try page([set])
    #expect(page.contains("1 snapshot cannot be restored"))
    #expect(page.contains("archive missing or altered: 20251231T000000Z"))
    #expect(page.contains("damage found in 20260101T000001Z"))
    #expect(page.contains(#"<bdi class="name">/mnt/&lt;x&gt;.manifest</bdi>"#))
    let unreadable = try self.page([
      SetFacts(name: "s", rows: [], damaged: [damaged], archives: 0, archiveBytes: 0)
    ])
    #expect(unreadable.contains("Some manifests are not valid."))
  }
}
