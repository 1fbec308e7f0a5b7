import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

/// Recovery data that a program makes and uses.
@Suite(.timeLimit(.minutes(3))) struct BatchParityTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func damage(_ name: PathBytes, at places: [Int]) throws {
    var bytes = try #require(t.content(name))
    for place in places { bytes[place] ^= 1 }
    try t.file(name, bytes)
  }

  @Test func filesAreProtectedComparedAndRepaired() async throws {
    try t.file("f", TreeFixture.content(50_000))
    let whole = t.content("f")
    var options = Batch.ParityOptions()
    (options.amount, options.blockSize) = (.blocks(3), 1000)
    let written = try await Batch.makeParity(of: [t.path("f")], at: t.path("f"), options)
    #expect(written.blocks == 50 && written.recoveryBlocks == 3 && written.paths.last == t.path("f.par2"))
    #expect(try await Batch.compareWithParity(t.path("f")).isWhole)
    try damage("f", at: [10, 20_000])
    let found = try await Batch.compareWithParity(t.path("f"))
    #expect(!found.isWhole && found.isRepairable && found.missingBlocks == 2)
    #expect(found.damagedPaths == [t.path("f")])
    let repaired = try await Batch.repair(t.path("f"))
    #expect(repaired.isWhole && repaired.repaired == 1 && t.content("f") == whole && t.exists("f.damaged"))
    try damage("f", at: [0, 1000, 2000, 3000])
    let refused = try await Batch.repair(t.path("f"))
    #expect(!refused.isWhole && !refused.isRepairable && t.content("f") != whole)
  }

  @Test func setsAndArchivesAreRepaired() async throws {
    for index in 0..<9 { try t.file(PathBytes("d/f\(index)"), TreeFixture.content(9000 + index)) }
    var options = Batch.BackupOptions()
    (options.stateDirectory, options.parity) = (t.path("state"), .share(0.2))
    let id = try #require(try await Batch.backup([t.path("d")], to: t.path("set"), options).id)
    let archive = PathBytes("set/backup-\(id).tar.zst")
    let whole = t.content(archive)
    try damage(archive, at: [100])
    let repaired = try await Batch.repairSet(t.path("set"))
    #expect(repaired.files == 2 && repaired.repaired == 1 && repaired.isWhole && t.content(archive) == whole)
    var archiving = Batch.ArchiveOptions()
    archiving.parity = .blocks(2)
    _ = try await Batch.archive([t.path("d")], to: t.path("a.tar.zst"), archiving)
    #expect(try await Batch.compareWithParity(t.path("a.tar.zst")).isWhole)
  }
}
