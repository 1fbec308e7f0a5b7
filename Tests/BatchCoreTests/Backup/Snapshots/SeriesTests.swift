import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import BatchCore

/// Which snapshots of a set are one series.
@Suite struct SeriesTests {
  private static func machine(_ number: UInt8) throws -> Machine {
    try Machine(identity: Array("\(String(repeating: "\(number)", count: 32))\n".utf8), host: "host\(number)")
  }

  /// What is known of a snapshot.
  private enum Kind {
    case plain, encrypted
    /// Of a version that recorded neither machine nor sources in the first line.
    case oldPlain, oldEncrypted
  }

  private static func header(
    _ number: Int, _ kind: Kind, _ machine: Machine, _ sources: [PathBytes]
  ) throws -> SnapshotHeader {
    let list = try SourceList(sources)
    var header = SnapshotHeader(
      name: SnapshotName(set: "s", seconds: Int64(number)), sequence: UInt64(number),
      started: FileStatus.Time(seconds: Int64(number), nanoseconds: 0), increment: 0)
    if kind == .plain || kind == .oldPlain { header.sources = list }
    if kind == .plain || kind == .encrypted {
      header.host = machine.host
      (header.machine, header.sourcesWord) = (machine.id, try machine.word(for: list))
    }
    return header
  }

  @Test(
    "an id is the same for the same machine, and does not contain its identity", arguments: [nil, "", "x"])
  func machines(identity: String?) throws {
    let one = try Self.machine(1)
    #expect(try one == Self.machine(1) && one.id != Self.machine(2).id && Machine.isWord(one.id))
    #expect(!one.id.contains("1111"))
    // Without a valid identity the host name decides.
    func named(_ host: String) throws -> Machine {
      try Machine(identity: identity.map { Array($0.utf8) }, host: host)
    }
    #expect(try named("a").id == named("a").id && named("a").id != named("b").id)
  }

  @Test("a word is the same for the same list, and only the machine can compute it")
  func words() throws {
    let (list, other) = (try SourceList(["/etc"]), try SourceList(["/etc", "/srv"]))
    #expect(try Self.machine(1).word(for: list) == Self.machine(1).word(for: SourceList(["/etc"])))
    #expect(try Self.machine(1).word(for: list) != Self.machine(1).word(for: other))
    #expect(try Self.machine(1).word(for: list) != Self.machine(2).word(for: list))
  }

  @Test(
    "snapshots of the same machine and sources are a series, encrypted or not, and grouping can ignore either",
    arguments: [
      (.hostAndSources, "ABCAB"), (.host, "AABAA"), (.sources, "ABAAB"), (.none, "AAAAA"),
    ] as [(Series.Grouping, String)])
  func groups(grouping: Series.Grouping, expected: String) throws {
    let (one, two) = (try Self.machine(1), try Self.machine(2))
    let headers = [
      try Self.header(1, .plain, one, ["/etc"]), try Self.header(2, .plain, one, ["/home"]),
      try Self.header(3, .plain, two, ["/etc"]), try Self.header(4, .encrypted, one, ["/etc"]),
      try Self.header(5, .encrypted, one, ["/home"]),
    ]
    #expect(Self.letters(Series.all(of: headers, by: grouping)) == expected)
  }

  @Test(
    "a snapshot of an earlier version joins the only series that fits, else it stays apart",
    arguments: [
      ("p1/etc o/etc", "AA"), ("p1/etc o/srv", "AB"), ("p1/etc p2/etc o/etc", "ABC"),
      ("p1/etc o/etc x", "AAA"), ("p1/etc p1/srv x", "ABC"), ("p1/etc p1/srv o/srv x", "ABBC"),
      ("x x", "AA"), ("o/etc x", "AA"), ("o/etc o/srv x", "ABC"), ("e1/etc o/etc", "AA"),
      ("e2/etc o/etc", "AB"),
    ])
  func earlier(snapshots: String, expected: String) throws {
    let headers = try snapshots.split(separator: " ").enumerated().map { number, text in
      let kind: Kind =
        switch text.first {
        case "p": .plain
        case "e": .encrypted
        case "o": .oldPlain
        default: .oldEncrypted
        }
      let path = text.drop { $0 != "/" }
      let machine = try Self.machine(text.contains("2") ? 2 : 1)
      return try Self.header(number, kind, machine, [PathBytes(String(path))])
    }
    // This machine, the first one, can compute its words for known sources.
    let series = Series.all(of: headers, by: .hostAndSources, machine: try Self.machine(1))
    #expect(Self.letters(series) == expected)
  }

  /// A letter for each series, in the order of their first snapshots.
  private static func letters(_ series: [Series]) -> String {
    var known: [Series] = []
    return series.map { one in
      if !known.contains(one) { known.append(one) }
      return String("ABCDEFG".dropFirst(known.firstIndex(of: one) ?? 0).prefix(1))
    }.joined()
  }

  @Test(
    "the newest snapshot is the latest one unless another series has sources that it lacks",
    arguments: [
      ("1/etc 1/etc", 1), ("1/etc 1/etc+/srv", 1), ("1/etc/ssh 1/etc", 1), ("1/etc 1/", 1),
      ("1/etc 1/etc/ssh", nil), ("1/etc 1/srv", nil), ("1/etc 2/etc", nil), ("1/etcetera 1/etc", nil),
    ] as [(String, Int?)])
  func latest(snapshots: String, expected: Int?) throws {
    var content = BackupSet.Content()
    content.snapshots = try snapshots.split(separator: " ").enumerated().map { number, text in
      let header = try Self.header(
        number, .plain, Self.machine(text.first == "2" ? 2 : 1),
        text.dropFirst().split(separator: "+").map { PathBytes(String($0)) })
      return Snapshot(name: header.name, header: header, footer: SnapshotFooter())
    }
    let found = Result { () throws(BatchError) in try content.snapshot(at: nil) }
    switch found {
    case .success(let snapshot): #expect(snapshot.header.sequence == expected.map { UInt64($0) })
    case .failure(let error):
      #expect(expected == nil && error.code == .ambiguous && error.remedy == .chooseSeries)
    }
    // An id is never ambiguous, and a choice of series helps.
    #expect(try content.snapshot(at: .id(content.snapshots[0].name.stamp)).header.sequence == 0)
    let first = content.snapshots[0].header
    let choice = SeriesChoice(host: first.host, source: first.sources?.paths?.first)
    #expect(throws: Never.self) { try content.snapshot(at: .latest, of: choice) }
    expectError(.missing) { try content.snapshot(at: .latest, of: SeriesChoice(host: "other")) }
  }
}
