import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BatchCore

/// Which snapshot a local time selects, in the time zones of several places.
@Suite struct SnapshotPlaceTests {
  /// A time zone of Foundation, which interprets the same rules with separate code.
  private struct Model {
    let zone: TimeZone

    init(_ name: String) throws { zone = try #require(TimeZone(identifier: name)) }

    func offset(_ seconds: Int64) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))))
    }

    /// All moments at which a clock in this zone shows a time, which is given as seconds as if the zone were
    /// UTC.
    func moments(_ wall: Int64) -> [Int64] {
      (-60...60).map { wall - $0 * 900 }.filter { $0 + offset($0) == wall }.sorted()
    }

    /// A moment in the form in which `snapshots` lists it.
    func text(_ seconds: Int64, hasSeconds: Bool = false) -> String {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = zone
      formatter.dateFormat = hasSeconds ? "yyyy-MM-dd HH:mm:ss" : "yyyy-MM-dd HH:mm"
      return formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
    }
  }

  private static func content(_ started: [Int64]) -> BackupSet.Content {
    var content = BackupSet.Content()
    content.snapshots = started.sorted().enumerated().map { number, seconds in
      let name = SnapshotName(set: "s", seconds: seconds)
      return Snapshot(
        name: name,
        header: SnapshotHeader(
          name: name, sequence: UInt64(number + 1),
          started: FileStatus.Time(seconds: seconds, nanoseconds: 500_000_000), increment: 0),
        footer: SnapshotFooter())
    }
    return content
  }

  private enum Found: Equatable {
    /// A snapshot that began in this second.
    case snapshot(Int64)
    case error(BatchError.Code)
  }

  private static func find(
    _ text: String, in content: BackupSet.Content, now: Int64 = 1_800_000_000
  ) -> Found {
    do throws(BatchError) {
      return .snapshot(
        try content.snapshot(at: try SnapshotPlace(PathBytes(text)), now: now).header.started.seconds)
    } catch {
      return .error(error.code)
    }
  }

  private static func within<R>(_ zone: String, _ body: () throws -> R) throws -> R {
    let before = getenv("TZ").map { String(cString: $0) }
    setenv("TZ", zone, 1)
    tzset()
    defer {
      if let before { setenv("TZ", before, 1) } else { unsetenv("TZ") }
      tzset()
    }
    return try body()
  }

  private static let zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu"]

  @Test("a local time selects the newest snapshot whose listed time is not later", arguments: zones)
  func random(_ zone: String) throws {
    let model = try Model(zone)
    var numbers = SeededNumbers(seed: UInt64(zone.utf8.count))
    // Days on which clocks are changed, and random days.
    let changes = try ["2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01", "1986-01-01"].map {
      Int64(try Date("\($0)T00:00:00Z", strategy: .iso8601).timeIntervalSince1970)
    }
    try Self.within(zone) {
      for number in 0..<Campaign.cases(2000) {
        let center =
          number % 2 == 0
          ? changes.randomElement(using: &numbers) ?? 0 : Int64.random(in: 0...1_900_000_000, using: &numbers)
        let started = Set((0..<4).map { _ in center + Int64.random(in: -20_000...30_000, using: &numbers) })
        let content = Self.content(Array(started))
        let hasSeconds = number % 3 == 0
        // A listed time, or any other one, which the clock of the zone may never show.
        let wall: Int64
        if number % 5 == 0, let listed = started.randomElement(using: &numbers) {
          wall = listed + model.offset(listed)
        } else {
          wall = center + model.offset(center) + Int64.random(in: -15_000...40_000, using: &numbers)
        }
        let unit: Int64 = hasSeconds ? 1 : 60
        let end = wall - wall % unit + unit - 1
        let text = try Model("UTC").text(wall, hasSeconds: hasSeconds)
        let moments = model.moments(end)
        let expected: Found
        if moments.isEmpty {
          let found = started.filter { $0 + model.offset($0) <= end }.max()
          expected = found.map { .snapshot($0) } ?? .error(.missing)
        } else {
          let listed = moments.filter { moment in
            started.contains { (moment - unit + 1...moment).contains($0) }
          }
          let found = Set(
            (listed.isEmpty ? moments : listed).compactMap { moment in started.filter { $0 <= moment }.max() }
          )
          expected =
            found.count > 1 ? .error(.ambiguous) : found.first.map { .snapshot($0) } ?? .error(.missing)
        }
        let form = number % 2 == 0 ? text : text.replacing(" ", with: "T")
        #expect(Self.find(form, in: content) == expected, "\(zone): \(form) of \(started.sorted())")
        // With the difference from UTC there is only one moment.
        for moment in moments {
          let found = started.filter { $0 <= moment }.max()
          let offset = LocalClock.text(ofOffset: model.offset(moment))
          let isWhole = model.offset(moment) % 60 == 0
          if isWhole {
            #expect(
              Self.find(form + offset, in: content) == found.map { .snapshot($0) } ?? .error(.missing),
              "\(zone): \(form + offset) of \(started.sorted())")
          }
        }
      }
    }
  }

  @Test("each listed time selects its snapshot", arguments: zones) func listed(_ zone: String) throws {
    let model = try Model(zone)
    var numbers = SeededNumbers(seed: 7)
    try Self.within(zone) {
      for _ in 0..<Campaign.cases(500) {
        let started = Int64.random(in: 0...1_900_000_000, using: &numbers)
        let content = Self.content([started - 7 * 86_400, started, started + 7 * 86_400])
        #expect(
          Self.find(model.text(started), in: content) == .snapshot(started), "\(zone) \(started)")
      }
    }
  }

  @Test("a time that exists twice is accepted when only one snapshot fits, otherwise the error names both")
  func twice() throws {
    // Clocks in Berlin showed 02:00 to 02:59 twice, beginning at 00:00 and at 01:00 UTC.
    let change: Int64 = 1_792_890_000
    try Self.within("Europe/Berlin") {
      let both = Self.content([change - 1800, change + 1800])
      let error = #expect(throws: BatchError.self) {
        try both.snapshot(at: try SnapshotPlace("2026-10-25 02:30"), now: change)
      }
      #expect(error?.code == .ambiguous)
      #expect(
        error?.remedy
          == "write '2026-10-25 02:30:00+02:00' for the snapshot 20261025T003000Z, or '2026-10-25 02:30:00+01:00' for 20261025T013000Z"
      )
      #expect(Self.find("2026-10-25 02:30+02:00", in: both) == .snapshot(change - 1800))
      #expect(Self.find("2026-10-25 02:30:00+01:00", in: both) == .snapshot(change + 1800))
      #expect(
        Self.find("2026-10-25 02:30", in: Self.content([change - 90_000, change + 1800]))
          == .snapshot(change + 1800))
      #expect(
        Self.find("2026-10-25 02:30", in: Self.content([change - 90_000])) == .snapshot(change - 90_000))
      #expect(Self.find("2026-10-25 02:30", in: Self.content([change + 1000])) == .snapshot(change + 1000))
    }
  }

  @Test("a time that the clock skipped means the moment at which it was set forward")
  func skipped() throws {
    let change: Int64 = 1_774_746_000
    try Self.within("Europe/Berlin") {
      let content = Self.content([change - 60, change + 60])
      for text in ["2026-03-29 02:00", "2026-03-29T02:30", "2026-03-29 02:59:59"] {
        #expect(Self.find(text, in: content) == .snapshot(change - 60), "\(text)")
      }
      #expect(Self.find("2026-03-29 03:01", in: content) == .snapshot(change + 60))
    }
  }

  @Test(
    "a day means its last moment, and an age is counted back from now",
    arguments: [
      ("latest", 1_795_416_180), ("today", 1_795_416_180), ("yesterday", 1_795_384_800),
      ("2026-11-22", 1_795_384_800),
      ("2026-11-21", 1_795_298_000), ("2h", 1_795_408_980), ("2 hours ago", 1_795_408_980),
      ("1h 59 minutes", 1_795_408_980),
      ("119m", 1_795_408_980), ("1 day", 1_795_298_000), ("3 days ago", 1_795_100_000), ("1w", nil),
      ("1 month", nil),
      ("@1795408980", 1_795_408_980), ("@1795408979", 1_795_384_800), ("2026-11-22T22:00Z", 1_795_384_800),
      ("2026-11-22T21:59:59Z", 1_795_298_000), ("2026-11-22Z", 1_795_384_800),
      ("2026-11-22 17:00-0500", 1_795_384_800),
      ("20261122T220000Z", 1_795_384_800), ("20261122", 1_795_384_800),
    ] as [(String, Int64?)])
  func words(_ text: String, _ expected: Int64?) throws {
    // 2026-11-23 07:43 in Berlin.
    let now: Int64 = 1_795_416_180
    let content = Self.content([1_795_100_000, 1_795_298_000, 1_795_384_800, 1_795_408_980, now])
    try Self.within("Europe/Berlin") {
      #expect(
        Self.find(text, in: content, now: now) == expected.map { .snapshot($0) } ?? .error(.missing),
        "\(text)")
    }
  }

  @Test(
    "an invalid time is refused",
    arguments: [
      "", "noon", "2", "-1", "2026-13-01", "2026-02-29", "2026-1-1", "2026-01-01T",
      "2026-01-01 24:00",
      "2026-01-01 12:60", "2026-01-01T12:00+16:00", "2026-01-01T12:00+1", "2026-01-01Z ", "2x", "2", "ago",
      "h", "2 h ago x",
      "12345678901h", "@", "@x", "@9999999999999", "20261120T020000Z0", "2026112T", "yesterday ", "Latest",
    ])
  func refused(_ text: String) {
    expectError(.invalid) { try SnapshotPlace(PathBytes(text)) }
  }

  @Test("an error without a fitting snapshot names the nearest ids")
  func nearest() throws {
    let content = Self.content([1_795_298_000, 1_795_384_800])
    func message(_ text: PathBytes) -> String? {
      do throws(BatchError) {
        return try content.snapshot(at: try SnapshotPlace(text)).label
      } catch {
        return error.message
      }
    }
    try Self.within("Europe/Berlin") {
      #expect(
        message("2020-01-01")
          == "no snapshot is that old; the nearest is 20261121T215320Z (2026-11-21 22:53:20 +01:00)")
      #expect(
        message("20261122T0")
          == "no snapshot has the id 20261122T0; the nearest are 20261121T215320Z (2026-11-21 22:53:20 +01:00) "
          + "and 20261122T220000Z (2026-11-22 23:00:00 +01:00)"
      )
      #expect(
        message("2026112")?.hasPrefix("the ids of 2 snapshots begin with 2026112: 20261121T215320Z")
          == true)
    }
  }
}
