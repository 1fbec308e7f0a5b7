import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// Which snapshots the rules of retention remove.
@Suite(.timeLimit(.minutes(4))) struct PruneTests {
  private static let day: Int64 = 86_400
  /// Noon of 1 November 2026 in UTC.
  private static let start: Int64 = 1_793_534_400

  private struct Made {
    /// Days after the start.
    var day: Int
    var series = 0
    var failures: UInt64? = 0
    var isVerified = true
  }

  private static func decide(
    _ made: [Made], _ retention: Retention, now: Int, by grouping: Series.Grouping = .hostAndSources
  ) throws -> Prune {
    let machine = try Machine(identity: nil, host: "one")
    var content = BackupSet.Content()
    for (number, one) in made.enumerated() {
      let started = start + Int64(one.day) * day
      let name = SnapshotName(set: "s", seconds: started + Int64(number))
      let list = try SourceList([PathBytes("/source\(one.series)")])
      var footer = SnapshotFooter()
      (footer.isVerified, footer.failures) = (one.isVerified, one.failures)
      footer.needs[name.stamp] = .init()
      content.archives[name] = 0
      content.snapshots.append(
        Snapshot(
          name: name,
          header: SnapshotHeader(
            name: name, sequence: UInt64(number + 1),
            started: FileStatus.Time(seconds: started, nanoseconds: 0), increment: 0, machine: machine.id,
            host: machine.host, sources: list, sourcesWord: try machine.word(for: list)),
          footer: footer))
    }
    return Prune(
      retention, of: try BackupSet(in: "/none", named: "s"), content, by: grouping, suspects: [],
      now: start + Int64(now) * day)
  }

  /// The numbers of the kept snapshots, the first one being 1.
  private static func kept(_ prune: Prune) -> [UInt64] {
    prune.decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot.header.sequence).reversed()
  }

  @Test(
    "after a clock that jumped, calendar rules count each day once, and --keep-last goes by number",
    arguments: [
      (.daily, 3, [1, 6, 7]), (.daily, 2, [6, 7]), (.last, 2, [6, 7]), (.last, 3, [5, 6, 7]),
    ] as [(Retention.Rule, Int, [UInt64])])
  func jumps(rule: Retention.Rule, count: Int, expected: [UInt64]) throws {
    let made = [1, 2, 3, 2, 3, 2, 3].map { Made(day: $0) }
    #expect(Self.kept(try Self.decide(made, Retention(counts: [rule: count]), now: 3)) == expected)
  }

  @Test(
    "a snapshot from the future stays, and takes the place of no other one",
    arguments: [Retention.Rule.last, .hourly, .daily, .weekly, .monthly, .yearly])
  func future(rule: Retention.Rule) throws {
    let made = [Made(day: 0), Made(day: 400), Made(day: 1), Made(day: 500)]
    let prune = try Self.decide(made, Retention(counts: [rule: 1]), now: 1)
    #expect(Self.kept(prune) == [2, 3, 4])
    #expect(prune.future.map(\.header.sequence) == [4, 2])
    let within = try Self.decide(made, Retention(within: .init(days: 1)), now: 1)
    #expect(Self.kept(within) == [2, 3, 4])
  }

  @Test(
    "the newest snapshot without failures of each series stays",
    arguments: [([0, 1, 2], [1, 3]), ([0, 0, 1], [2, 3]), ([1, nil, 1], [2, 3]), ([0, 0, 0], [3])]
      as [([UInt64?], [UInt64])])
  func complete(failures: [UInt64?], expected: [UInt64]) throws {
    let made = failures.enumerated().map { Made(day: $0, failures: $1) }
    let prune = try Self.decide(made, Retention(counts: [.last: 1]), now: 3)
    #expect(Self.kept(prune) == expected)
    let other = [Made(day: 0, series: 1)] + made
    #expect(
      Self.kept(try Self.decide(other, Retention(counts: [.last: 1]), now: 3)) == [1]
        + expected.map { $0 + 1 })
  }

  @Test(
    "a snapshot within the difference of two clocks counts as verified, a later one does not",
    arguments: [(-1, 0), (0, 0), (1, 0), (600, 0), (601, 1)])
  func doubtful(ahead: Int64, expected: Int) throws {
    let made = try Self.decide([Made(day: 0)], Retention(counts: [.last: 1]), now: 0)
    let doubtful = Prune.doubtful(made.decisions.map(\.snapshot), [], now: Self.start - ahead)
    #expect(doubtful.count == expected)
  }

  @Test("in each series the same snapshots stay as in a set that has this series alone")
  func groups() throws {
    var generator = SeededNumbers(seed: Campaign.isFull ? UInt64.random(in: 0...UInt64.max) : 3)
    func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
    for _ in 0..<Campaign.cases(60) {
      let made = (0..<pick(1...40)).map { _ in
        Made(
          day: pick(0...90), series: pick(0...2), failures: [nil, 0, 0, 3][pick(0...3)],
          isVerified: pick(0...2) > 0)
      }
      let retention = Retention(
        counts: [.last: pick(0...3), .daily: pick(0...6), .weekly: pick(0...4), .monthly: pick(0...2)],
        within: pick(0...2) == 0 ? .init(days: pick(1...30)) : nil)
      let now = pick(40...95)
      let all = Set(Self.kept(try Self.decide(made, retention, now: now)))
      var expected: Set<UInt64> = []
      for series in 0...2 {
        let places = made.indices.filter { made[$0].series == series }
        let kept = Self.kept(try Self.decide(places.map { made[$0] }, retention, now: now, by: .none))
        expected.formUnion(kept.map { UInt64(places[Int($0) - 1] + 1) })
      }
      #expect(all == expected)
      let mixed = Set(Self.kept(try Self.decide(made, retention, now: now, by: .none)))
      #expect(mixed.isSubset(of: all))
    }
  }
}
