import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct TransformChoicesTests {
  private func choices(_ arguments: String...) throws -> TransformChoices {
    try TransformChoices(parsed(paths(["compress", "x"] + arguments)))
  }

  private func refusal(_ arguments: String...) -> String? {
    do {
      _ = try TransformChoices(parsed(paths(["compress", "x"] + arguments)))
      return nil
    } catch {
      return (error as? UsageError)?.message
    }
  }

  @Test func hasTheDefaultsOfTheHelp() throws {
    let choices = try choices()
    #expect(choices.format == .gz && choices.level == nil && choices.suffix == ".gz")
    #expect(!choices.force && !choices.removesSource && !choices.compressesAll)
    #expect(choices.outputDirectory == nil && choices.maximumOutput == nil)
  }

  @Test(arguments: CompressionFormat.allCases)
  func takesEveryLevelOfAFormatAndNoOther(format: CompressionFormat) throws {
    for level in 0...22 {
      let arguments = ["--format", format.rawValue, "--level", "\(level)"]
      let message = refusal(arguments[0], arguments[1], arguments[2], arguments[3])
      #expect((message == nil) == format.levels.contains(level), "\(level)")
      if let message {
        #expect(
          message
            == "The level \(level) is not one of '\(format.rawValue)', which has \(format.levels.lowerBound) to \(format.levels.upperBound)."
        )
      }
    }
  }

  @Test func holdsTheLevelAgainstTheFormatWhereverItStands() throws {
    #expect(try choices("-l", "0", "--format", "xz").level == 0)
    #expect(try choices("-l0").level == 0)
    #expect(refusal("-l", "0", "--format", "zst") != nil)
  }

  @Test func takesSuffixesThatAreAPartOfAName() throws {
    #expect(try choices("--suffix", "-gz").suffix == "-gz")
    #expect(refusal("--suffix", "/x") == "The suffix has to be a part of a name, without '/'.")
  }
}
