import BatchCore
import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// Compares the rules of retention with `restic forget --dry-run`, for the same times and options.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Host.hasRestic, "needs restic"))
struct RetentionTests {
  private struct Row: Decodable {
    struct Snapshot: Decodable { let time: String }
    struct Reason: Decodable { let snapshot: Snapshot }
    let reasons: [Reason]?
  }

  @Test(
    "the same snapshots are kept", arguments: Campaign.isFull ? ["UTC", "Europe/Berlin"] : ["Europe/Berlin"])
  func sameAsRestic(zone: String) throws {
    let t = try TreeFixture()
    var generator = SeededNumbers(seed: 12)
    // Times near both changes of the clock, near the ends of years, and in bursts.
    var times: Set<Int64> = []
    let count = Campaign.isFull ? 500 : 9
    while times.count < count {
      let center: Int64 =
        [1_774_746_000, 1_761_440_400, 1_767_225_600, 1_704_067_200, 1_735_600_000].randomElement(
          using: &generator) ?? 0
      let reach: Int64 = [4000, 90_000, 3_000_000, 40_000_000].randomElement(using: &generator) ?? 1
      // restic ignores snapshots in the future.
      times.insert(min(1_790_000_000, center + Int64.random(in: -reach...reach, using: &generator)))
    }
    let made = try t.shell(
      """
      export TZ=\(zone) RESTIC_REPOSITORY=$PWD/repository RESTIC_PASSWORD=x RESTIC_CACHE_DIR=$PWD/cache
      restic init -q
      echo a >f
      backup='restic backup -q --no-lock --force --time "$(date -d @{} "+%F %T")" f || echo bad'
      printf '%s\\n' \(times.sorted().map(String.init).joined(separator: " ")) | xargs -P 4 -I{} sh -c "$backup"
      """, seconds: 900)
    #expect(made.text == "", "\(made.text)\(made.errorText)")
    let listed = try t.shell(
      "TZ=\(zone) RESTIC_CACHE_DIR=$PWD/cache RESTIC_PASSWORD=x restic -r repository --no-lock snapshots --json"
    )
    let known = try JSONDecoder().decode([Row.Snapshot].self, from: Data(listed.output)).map {
      try Self.seconds($0.time)
    }
    .sorted(by: >)
    #expect(known.count == count)
    // The `--time` option of restic cannot distinguish the two moments of an ambiguous local time, so the
    // stored times are compared.
    setenv("TZ", zone, 1)
    tzset()
    defer {
      unsetenv("TZ")
      tzset()
    }
    for _ in 0..<(Campaign.isFull ? 60 : 4) {
      var counts: [Retention.Rule: Int] = [:]
      var options = ""
      for (rule, word) in [
        (Retention.Rule.last, "last"), (.hourly, "hourly"), (.daily, "daily"), (.weekly, "weekly"),
        (.monthly, "monthly"),
        (.yearly, "yearly"),
      ] where Int.random(in: 0..<3, using: &generator) == 0 {
        let number = Int.random(in: 1...12, using: &generator)
        counts[rule] = number
        options += " --keep-\(word) \(number)"
      }
      var within: Retention.Span?
      if counts.isEmpty || Int.random(in: 0..<3, using: &generator) == 0 {
        let span = Retention.Span(
          years: Int.random(in: 0...1, using: &generator), months: Int.random(in: 0...5, using: &generator),
          days: Int.random(in: 1...40, using: &generator), hours: Int.random(in: 0...30, using: &generator))
        within = span
        options += " --keep-within \(span.years)y\(span.months)m\(span.days)d\(span.hours)h"
      }
      let forget = try t.shell(
        "TZ=\(zone) RESTIC_CACHE_DIR=$PWD/cache RESTIC_PASSWORD=x restic -r repository --no-lock forget --dry-run --json --group-by '' \(options)"
      )
      let rows = try JSONDecoder().decode([Row].self, from: Data(forget.output))
      let theirs = try (rows.first?.reasons ?? []).map { try Self.seconds($0.snapshot.time) }.sorted(by: >)
      let reasons = Retention(counts: counts, within: within).reasons(of: known, now: .max)
      let ours = known.indices.filter { !reasons[$0].isEmpty }.map { known[$0] }
      #expect(ours == theirs, "\(options)")
    }
  }

  private static func seconds(_ time: String) throws -> Int64 {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime]
    return Int64(try #require(formatter.date(from: time)).timeIntervalSince1970)
  }
}
