import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct ArchiveChoicesTests {
  private func choices(_ arguments: String..., epoch: PathBytes? = nil) throws -> ArchiveChoices {
    try ArchiveChoices(parsed(paths(["archive", "x"] + arguments))) { _ in epoch }
  }

  private func refusal(_ arguments: String..., epoch: PathBytes? = nil) -> String? {
    do {
      _ = try ArchiveChoices(parsed(paths(["archive", "x"] + arguments))) { _ in epoch }
      return nil
    } catch {
      return (error as? UsageError)?.message
    }
  }

  @Test func findsTheFormatByTheSuffix() throws {
    let choices = try choices("-o", "a.tar.zst")
    let options = choices.options
    #expect(options.format.name == "tar.zst" && choices.output == "a.tar.zst")
    #expect(options.level == nil && options.latestTime == nil && !options.isReproducible)
    #expect(try self.choices("-o", "a.tar.zst", "--format", "tar").options.format.name == "tar")
    #expect(try self.choices("-o", "-", "--format", "tar.gz").output == nil)
  }

  @Test func needsAnOutputAndAFormat() {
    #expect(refusal()?.contains("'-o <file>'") == true)
    #expect(refusal("-o", "-")?.contains("--format") == true)
    #expect(refusal("-o", "a.rar")?.contains("--format") == true)
  }

  @Test func acceptsTheLevelsOfTheFormat() throws {
    #expect(try choices("-o", "a.tar.xz", "-l", "9").options.level == 9)
    #expect(refusal("-o", "a.tar.xz", "-l", "10")?.contains("0 to 9") == true)
    #expect(refusal("-o", "a.tar", "-l", "1")?.contains("has no levels") == true)
  }

  @Test func readsTheLatestTimeFromOptionOrEnvironment() throws {
    #expect(try choices("-o", "a.tar", "--mtime", "@7").options.latestTime == 7)
    #expect(try choices("-o", "a.tar", "--reproducible", epoch: "9").options.latestTime == 9)
    #expect(try choices("-o", "a.tar", "--reproducible", "--mtime", "@7", epoch: "9").options.latestTime == 7)
    #expect(try choices("-o", "a.tar", epoch: "9").options.latestTime == nil)
    #expect(refusal("-o", "a.tar", "--reproducible", epoch: "noon")?.contains("SOURCE_DATE_EPOCH") == true)
  }

  @Test(
    arguments: [
      ("@0", 0), ("@-7", -7), ("@1735689600", 1_735_689_600), ("1970-01-01", 0),
      ("2026-01-01", 1_767_225_600),
      ("2024-02-29T12:30Z", 1_709_209_800), ("2000-03-01T00:00:01", 951_868_801),
      ("1969-12-31T23:59:59Z", -1),
      ("1900-03-01", -2_203_891_200),
    ] as [(PathBytes, Int64)])
  func readsTimes(text: PathBytes, seconds: Int64) throws {
    #expect(try ValueSyntax.time(text) == seconds)
  }

  @Test(
    arguments: [
      "", "@", "@-", "@x", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-01-01T25:00",
      "2026-01-01T00:60",
      "2026-01-01T00:00:60", "2026-01-01 00:00", "now", "@99999999999999999999",
    ] as [PathBytes])
  func refusesInvalidTimes(text: PathBytes) {
    #expect(throws: ValueSyntax.Mismatch.self) { try ValueSyntax.time(text) }
  }
}
