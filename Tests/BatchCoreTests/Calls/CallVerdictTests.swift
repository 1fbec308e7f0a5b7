import BatchEngine
import BatchOutputs
import Testing

@testable import BatchCore

@Suite struct CallVerdictTests {
  private static func counts(
    done: Int = 0, failed: Int = 0, unavailable: Int = 0, missing: Int = 0, upToDate: Int = 0,
    spoilt: Int = 0, refused: Int = 0
  ) -> Counters.Snapshot {
    var counts = Counters.Snapshot()
    counts.done = done
    counts.failed = failed
    counts.unavailable = unavailable
    counts.missing = missing
    counts.skipped = upToDate
    if upToDate > 0 { counts.reasons = [.upToDate: upToDate] }
    (counts.spoilt, counts.refused) = (spoilt, refused)
    return counts
  }

  @Test(
    "a run came to nothing if each path is missing or cannot be read",
    arguments: [
      (counts(), CallVerdict([])), (counts(done: 1), CallVerdict([])),
      (counts(failed: 1, unavailable: 1), CallVerdict([.someFailed, .nothing])),
      (counts(failed: 2, unavailable: 1), CallVerdict.someFailed),
      (counts(done: 1, failed: 1, unavailable: 1), CallVerdict.someFailed),
      (counts(failed: 1, unavailable: 1, upToDate: 1), CallVerdict.someFailed),
    ] as [(Counters.Snapshot, CallVerdict)])
  func nothing(counts: Counters.Snapshot, expected: CallVerdict) {
    #expect(CallVerdict(counts) == expected)
  }

  @Test(
    "an archive came to nothing if it has no member, whatever the reason",
    arguments: [
      (counts(), CallVerdict([])), (counts(done: 1, failed: 1), CallVerdict.someFailed),
      (counts(failed: 1), CallVerdict([.someFailed, .nothing])),
      (counts(missing: 1), CallVerdict.nothing),
    ] as [(Counters.Snapshot, CallVerdict)])
  func archive(counts: Counters.Snapshot, expected: CallVerdict) {
    let call = ArchiveCall(ArchiveOptions(format: .tarZstandard), stride: nil)
    #expect(call.verdict(CallTally(counts, paths: 1)) == expected)
  }

  @Test(
    "outputs are incomplete if some could not be stored, or none could be created",
    arguments: [
      (counts(done: 1), 1, []), (counts(done: 1, failed: 1, spoilt: 1), 1, [.someFailed, .incomplete]),
      (counts(failed: 1, unavailable: 1, refused: 1), 0, [.someFailed, .incomplete]),
      (counts(done: 1, failed: 1, refused: 1), 1, .someFailed),
    ] as [(Counters.Snapshot, Int, CallVerdict)])
  func outputs(counts: Counters.Snapshot, made: Int, expected: CallVerdict) {
    let options = OutputOptions(naming: OutputNaming(.decompressing, directory: nil))
    let verdict = DecompressCall(options, mostOutput: nil).verdict(
      CallTally(counts, paths: 1, findings: ["outputs": made]))
    #expect(verdict == expected)
  }

  @Test(
    "a check has differences without proof, and came to nothing if no manifest can be read",
    arguments: [
      (["matches": 1], 1, []), (["matches": 1, "differs": 1], 1, .differences),
      (["matches": 1, "unreadable": 1], 1, .someFailed), ([:], 1, .differences), ([:], nil, []),
      (["ignored": 2], 1, .differences), (["unreadable_manifests": 2], 2, [.nothing, .someFailed]),
      (["unreadable_manifests": 1, "matches": 1], 2, .someFailed),
    ] as [([String: Int], Int?, CallVerdict)])
  func check(findings: [String: Int], manifests: Int?, expected: CallVerdict) {
    let call = CheckCall(ManifestReader.Options(), in: nil)
    #expect(call.verdict(CallTally(Self.counts(), paths: manifests, findings: findings)) == expected)
  }

  @Test(
    "a damaged or cut archive is incomplete, and comes to nothing only if no member exists",
    arguments: [
      (counts(done: 1), [:], []), (counts(done: 1), ["damaged": 1], .incomplete),
      (counts(failed: 1), ["damaged": 1], [.incomplete, .someFailed]),
      (counts(failed: 1), [:], [.nothing, .someFailed]),
      (counts(), ["unmatched": 1], [.nothing, .someFailed]),
      (counts(done: 1), ["unmatched": 1, "cut_short": 1], [.someFailed, .incomplete]),
      (counts(done: 1), ["made_safe": 1], .someFailed), (counts(done: 1), ["without_owner": 1], .someFailed),
    ] as [(Counters.Snapshot, [String: Int], CallVerdict)])
  func extraction(counts: Counters.Snapshot, findings: [String: Int], expected: CallVerdict) {
    let call = ExtractCall(.archive(ReadArchive("a"), .all, globs: []), into: ".", ExtractionOptions())
    #expect(call.verdict(CallTally(counts, paths: nil, findings: findings)) == expected)
  }

  @Test(
    "an audit and a verification differ before they fail",
    arguments: [
      (["different": 1], counts(failed: 1), [.differences, .someFailed]),
      (["unread": 1], counts(), [.nothing, .someFailed]), (["unread": 1, "same": 1], counts(), .someFailed),
    ] as [([String: Int], Counters.Snapshot, CallVerdict)])
  func audit(findings: [String: Int], counts: Counters.Snapshot, expected: CallVerdict) throws {
    let call = AuditCall(
      .pair(.folder("a"), .folder("b"), parts: nil, aligns: true, walk: WalkOptions()))
    #expect(call.verdict(CallTally(counts, paths: nil, findings: findings)) == expected)
  }
}
