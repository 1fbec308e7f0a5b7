import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The result of a verification")
struct VerifyCollectorTests {
  private static let aspect = Difference.Aspect(.target, "first", "")

  private func digest(_ byte: UInt8) throws -> Digest {
    try #require(Digest(.sha256, bytes: [UInt8](repeating: byte, count: 32)))
  }

  private func separate(_ content: Digest) throws -> VerifyJob.Row {
    .separate(
      VerifyJob.Finding(path: "link", damage: nil), Self.aspect, target: try RelativePath("first"),
      content: content)
  }

  private func collect(_ rows: [VerifyJob.Row]) throws -> Verification {
    let collector = VerifyJob { _ in }.makeCollector(in: CollectorContext(RunContext()), sharing: ())
    // Each row separately, as they arrive when problems lie between them.
    for row in rows { try collector.collect([row]) }
    return collector.finish()
  }

  @Test("a hard link that became a file is compared with the member before it, not with a later one")
  func separateFile() throws {
    let same = try collect([
      .member("./first", try digest(1)), try separate(try digest(1)), .member("first", try digest(2)),
    ])
    #expect(same.count(of: .metadata) == 1 && same.count(of: .modified) == 0)
    let other = try collect([
      .member("first", try digest(1)), .member("first", try digest(2)), try separate(try digest(1)),
    ])
    #expect(other.count(of: .modified) == 1)
    let unknown = try collect([
      .member("first", try digest(1)), .member("first", nil), try separate(try digest(3)),
    ])
    #expect(unknown.count(of: .metadata) == 1)
  }

  @Test("damage is listed once, and an archive with damage before its end is not complete")
  func damage() throws {
    let damaged = try collect([
      .note(.damage("b")), .note(.damage("a")), .note(.damage("b")), .note(.end(complete: "complete")),
    ])
    #expect(damaged.damage == ["b", "a"] && damaged.facts.isEmpty && damaged.isDifferent)
    let whole = try collect([.note(.fact("fact")), .note(.end(complete: "complete"))])
    #expect(whole.facts == ["fact", "complete"] && !whole.isDifferent)
  }

  @Test("members are counted by the kind of their fault")
  func counts() throws {
    var incomplete = VerifyJob.Finding(path: "incomplete", damage: nil)
    incomplete.flags = [.incomplete]
    let verification = try collect([
      .finding(VerifyJob.Finding(path: "whole", damage: nil)),
      .finding(VerifyJob.Finding(path: "lost", damage: BatchError(.malformed, "lost"))),
      .finding(incomplete),
    ])
    #expect(verification.damagedMembers == 1)
    #expect(verification.changedMembers == 1 && verification.incompleteMembers == 1)
  }
}
