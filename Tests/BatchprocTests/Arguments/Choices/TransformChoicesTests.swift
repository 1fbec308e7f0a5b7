import BatchCore
import BatchEngine
import BatchOutputs
import Testing

@testable import batchproc

@Suite struct TransformChoicesTests {
  private func choices(_ arguments: String...) throws -> TransformChoices {
    try TransformChoices(parsed(paths(["compress", "x"] + arguments)), compresses: true)
  }

  private func refusal(_ arguments: String...) -> String? {
    do {
      _ = try TransformChoices(parsed(paths(["compress", "x"] + arguments)), compresses: true)
      return nil
    } catch {
      return (error as? UsageError)?.message
    }
  }

  @Test func hasTheDefaultsOfTheHelp() throws {
    let choices = try choices()
    let outputs = choices.outputs
    #expect(choices.format == .gz && choices.level == nil && choices.maximumOutput == nil)
    #expect(outputs.naming == OutputNaming(.adding(suffix: ".gz"), directory: nil))
    #expect(outputs.replacing == .older && !outputs.removesSource && !outputs.compressesAll)
  }

  @Test("--replace takes older outputs without the mark too, --no-replace takes none, and --force takes all")
  func replacing() throws {
    func replaces(_ arguments: String...) throws -> String {
      let outputs = try TransformChoices(parsed(paths(["compress", "x"] + arguments)), compresses: true)
        .outputs
      return "\(outputs.replacing) \(outputs.replacesUnmarked)"
    }
    #expect(try replaces() == "older false")
    #expect(try replaces("--replace") == "older true")
    #expect(try replaces("--no-replace") == "never false")
    #expect(try replaces("--no-replace", "--replace") == "older true")
    #expect(try replaces("--force") == "always false")
  }

  @Test(arguments: CompressionFormat.writable)
  func acceptsTheLevelsOfAFormatOnly(format: CompressionFormat) throws {
    for level in 0...22 {
      let arguments = ["--format", format.rawValue, "--level", "\(level)"]
      let message = refusal(arguments[0], arguments[1], arguments[2], arguments[3])
      #expect((message == nil) == format.levels.contains(level), "\(level)")
      if let message {
        #expect(
          message
            == "'\(format.rawValue)' has no level \(level): it has \(format.levels.lowerBound) to \(format.levels.upperBound)."
        )
      }
    }
  }

  @Test func comparesTheLevelWithTheFormatInAnyOrder() throws {
    #expect(try choices("-l", "0", "--format", "xz").level == 0)
    #expect(try choices("-l0").level == 0)
    #expect(refusal("-l", "0", "--format", "zst") != nil)
  }

  @Test func acceptsTheSpellingsOfLevels() throws {
    #expect(try choices("-9").level == 9)
    #expect(try choices("--format", "zstd", "-19").level == 19)
    #expect(try choices("-k6f").level == 6)
    #expect(try choices("-9", "-l", "2").level == 2)
    for (format, fastest, best) in [("gz", 1, 12), ("zst", 1, 19), ("xz", 0, 9), ("lz4", 1, 12)] {
      #expect(try choices("--format", format, "--fast").level == fastest)
      #expect(try choices("--format", format, "--fast", "--best").level == best)
    }
    #expect(refusal("-19") == "'gz' has no level 19: it has 0 to 12.")
    #expect(refusal("-l", "99") == "'gz' has no level 99: it has 0 to 12.")
  }

  @Test func acceptsNamesInAnyCaseAndTheirAliases() throws {
    for (name, format) in [("GZ", CompressionFormat.gz), ("gzip", .gz), ("Zstd", .zst), ("XZ", .xz)] {
      #expect(try choices("--format", name).format == format)
    }
  }

  @Test func theLastOptionDecidesWhetherSourcesAreRemoved() throws {
    #expect(try choices("--rm").outputs.removesSource)
    #expect(try !choices("--rm", "-k").outputs.removesSource)
    #expect(try choices("--keep", "--remove-source").outputs.removesSource)
  }

  @Test func theCommandAndItsOptionsDecideWhatIsReplaced() throws {
    #expect(try choices("-f").outputs.replacing == .always)
    #expect(try choices("--no-replace").outputs.replacing == .never)
    func decompressing(_ arguments: String...) throws -> Replacing {
      try TransformChoices(parsed(paths(["decompress", "x"] + arguments)), compresses: false).outputs
        .replacing
    }
    #expect(try decompressing() == .never)
    #expect(try decompressing("--update") == .older)
    #expect(try decompressing("--update", "--force") == .always)
  }

  @Test func refusesContradictions() {
    #expect(refusal("-c", "--rm") == "--stdout cannot be used with --remove-source: no file is written.")
    #expect(
      refusal("-c", "--output-dir", "o") == "--stdout cannot be used with --output-dir: no file is written.")
    #expect(refusal("--copy-others") == "--copy-others needs --output-dir.")
  }

  @Test func acceptsSuffixesThatArePartOfAName() throws {
    #expect(try choices("--suffix", "-gz").outputs.naming.direction == .adding(suffix: "-gz"))
    #expect(refusal("--suffix", "/x") == "The suffix has to be a part of a name, without '/'.")
  }
}
