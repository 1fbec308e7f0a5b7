import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// The rows that each call gives to its reader.
/// One at a time, since the calls of a process share its descriptors.
@Suite(.serialized, .timeLimit(.minutes(3))) struct BatchRowsTests {
  private let t: TreeFixture
  private var d: PathBytes { t.path("d") }

  init() throws {
    t = try TreeFixture()
    for name in ["a", "b", "c"] {
      try t.file(PathBytes("d/\(name)"), String(repeating: "\(name)\n", count: 900))
    }
  }

  private func rows<Row, Details>(_ results: Batch.Results<Row, Details>) async throws(BatchError) -> [Row] {
    var rows: [Row] = []
    for try await row in results { rows.append(row) }
    return rows
  }

  private func paths(_ names: String...) -> [PathBytes] { names.map { t.path(PathBytes("d/\($0)")) } }

  @Test func compressesAndDecompresses() async throws {
    let d = d
    let made = try await rows(Batch.Results { try await Batch.compress([d], each: $0) })
    #expect(made.map(\.source) == paths("a", "b", "c"))
    guard case .written(t.path("d/a.gz"), sourceSize: 1800, let size) = try #require(made.first?.result)
    else {
      Issue.record("\(made)")
      return
    }
    #expect(size < 1800)
    let again = try await rows(Batch.Results { try await Batch.compress([d], each: $0) })
    #expect(again.filter { $0.result == .upToDate }.map(\.source) == paths("a", "b", "c"))
    try t.remove("d/b")
    let back = try await rows(Batch.Results { try await Batch.decompress([d], each: $0) })
    #expect(back.map(\.source) == paths("a.gz", "b.gz", "c.gz"))
    #expect(back.map { $0.result == .upToDate } == [true, false, true])
    let changed = try await rows(
      Batch.Results { each in
        try await Batch.transform([d], Batch.TransformOptions(suffix: ".t"), each: each) { $0 }
      })
    #expect(changed.count == 6)

    try t.file("d/c.gz", "no content of gzip")
    let tested = try await rows(
      Batch.Results { try await Batch.test([d.appending("c.gz".utf8), t.path("d/a.gz")], each: $0) })
    #expect(tested.map(\.path) == paths("c.gz", "a.gz") && tested.last?.damage == nil)
    #expect(tested.first?.damage != nil)
  }

  @Test func checksManifests() async throws {
    var options = Batch.HashOptions()
    options.manifest = t.path("sums")
    _ = try await Batch.hash([d], options)
    try t.file("d/b", "changed")
    try t.remove("d/c")
    let sums = t.path("sums")
    let checked = try await rows(Batch.Results { try await Batch.check([sums], each: $0) })
    #expect(checked.map(\.path) == paths("a", "b", "c"))
    #expect(checked.map(\.result) == [.matches, .differs, .missing])
    let d = d
    let audited = try await rows(Batch.Results { try await Batch.audit(sums, against: d, each: $0) })
    #expect(audited.map(\.difference?.kind) == [nil, .modified, .missing])
    #expect(audited.map(\.path).count == 3)
  }

  @Test func archivesAndExtracts() async throws {
    let (d, archive, out) = (d, t.path("d.tar.zst"), t.path("out"))
    let written = try await rows(Batch.Results { try await Batch.archive([d], to: archive, each: $0) })
    var listing = Batch.ListOptions()
    listing.readsDigests = true
    let digests = listing
    let listed = try await rows(Batch.Results { try await Batch.list(archive, digests, each: $0) })
    #expect(
      written.map(\.path) == listed.map(\.path) && written.map(\.kind) == [.folder, .file, .file, .file])
    #expect(written.map(\.digest) == listed.map(\.digest) && written.last?.digest != nil)
    let extracted = try await rows(Batch.Results { try await Batch.extract(archive, into: out, each: $0) })
    // Folders come last, because their times are set last.
    #expect(extracted.map(\.path) == listed.dropFirst().map(\.path) + listed.prefix(1).map(\.path))
    #expect(
      extracted.map(\.size) == [1800, 1800, 1800, 0] && extracted.allSatisfy { $0.result == .extracted })
    var extracting = Batch.ExtractOptions()
    extracting.extraction.replacing = .older
    let older = extracting
    let kept = try await rows(Batch.Results { try await Batch.extract(archive, into: out, older, each: $0) })
    #expect(kept.filter { $0.kind == .file }.map(\.result) == [.kept, .kept, .kept])
    var options = Batch.VerifyOptions()
    options.directory = "/"
    let against = options
    try t.file("d/b", "changed")
    let verified = try await rows(Batch.Results { try await Batch.verify(archive, against, each: $0) })
    #expect(verified.map(\.path) == listed.map(\.path) && verified.allSatisfy { $0.damage == nil })
    #expect(verified.compactMap(\.difference).contains(.modified))
    let pieces = try await rows(
      Batch.Results { each in try await Batch.cat(membersOf: archive) { each($0) } })
    #expect(
      pieces.flatMap(\.self)
        == ["a", "b", "c"].flatMap { Array(String(repeating: "\($0)\n", count: 900).utf8) })
  }

  @Test func findsDuplicatesRunsAndMirrors() async throws {
    try t.file("d/e", String(repeating: "a\n", count: 900))
    let (d, target) = (d, t.path("target"))
    let groups = try await rows(Batch.Results { try await Batch.duplicates([d], each: $0) })
    #expect(groups.map(\.paths) == [paths("a", "e")])
    let ran = try await rows(Batch.Results { try await Batch.run([d], ["true"], each: $0) })
    #expect(ran.map(\.path) == paths("a", "b", "c", "e"))
    let copied = try await rows(Batch.Results { try await Batch.mirror([d], into: target, each: $0) })
    #expect(copied.filter { $0.result == .copied && $0.size > 0 }.map(\.path) == paths("a", "b", "c", "e"))
    let again = try await rows(Batch.Results { try await Batch.mirror([d], into: target, each: $0) })
    #expect(again.filter { $0.result == .upToDate }.map(\.path).contains(t.path("d/a")))
  }

  @Test func worksOnSnapshots() async throws {
    var options = Batch.BackupOptions()
    (options.stateDirectory, options.isSynced, options.parity) = (t.path("state"), false, .share(0.2))
    let (d, set, far, out, backup) = (d, t.path("set"), t.path("far"), t.path("out"), options)
    let members = try await rows(Batch.Results { try await Batch.backup([d], to: set, backup, each: $0) })
    #expect(members.filter { $0.kind == .file }.count == 3)
    let found = try await rows(Batch.Results { try await Batch.search(for: "b", in: set, each: $0) })
    #expect(found.map(\.change) == [.first])
    let restored = try await rows(Batch.Results { try await Batch.restore(set, into: out, each: $0) })
    #expect(restored.filter { $0.kind == .file && $0.result == .extracted }.count == 3)
    let copy = Batch.Results { try await Batch.copy(set, to: far, each: $0) }
    let names = try await rows(copy)
    #expect(try await copy.report().files == names.count && names.count >= 2)
    #expect(Set(names).isSubset(of: t.names(in: "far")))
    var drill = Batch.DrillOptions()
    (drill.share, drill.temporaryDirectory) = (1, t.root)
    let whole = drill
    let drilled = try await rows(Batch.Results { try await Batch.drill(set, whole, each: $0) })
    #expect(drilled.count >= 3 && drilled.allSatisfy { $0.difference == nil })
    let repaired = try await rows(Batch.Results { try await Batch.repairSet(set, each: $0) })
    #expect(repaired.count == 2 && repaired.allSatisfy { $0.state == .whole })
    let archive = try #require(repaired.map(\.path).first)
    let compared = try await rows(Batch.Results { try await Batch.compareWithParity(archive, each: $0) })
    #expect(compared.map(\.path) == [archive])
    let unchanged = try await rows(Batch.Results { try await Batch.repair(archive, each: $0) })
    #expect(unchanged.map(\.state) == [.whole])
  }
}
