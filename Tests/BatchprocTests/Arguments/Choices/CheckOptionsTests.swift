import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct CheckOptionsTests {
  @Test func hasTheDefaultsOfTheContract() throws {
    let options = CheckOptions(try parsed("check", "m"))
    #expect(options.reading.algorithm == nil && options.directory == nil)
    #expect(!options.reading.zero && !options.printsNoRows && !options.warnsOfBadLines)
    #expect(!options.failsOnBadLines && !options.ignoresMissing && !options.ignoresMalformed)
    #expect(!options.escapesControls)
  }

  @Test func resolvesEveryOption() throws {
    let line = try parsed(
      "check", "-wz", "--status", "--strict", "--ignore-missing", "--ignore-malformed", "--escape", "-C", "d",
      "-a",
      "blake2b", "m")
    let options = CheckOptions(line)
    #expect(options.reading.algorithm == .blake2b && options.directory == "d")
    #expect(options.reading.zero && options.printsNoRows && options.warnsOfBadLines)
    #expect(options.failsOnBadLines && options.ignoresMissing && options.ignoresMalformed)
    #expect(options.escapesControls)
  }

  @Test func treatsAllFormsOfQuietAlike() throws {
    #expect(try CommonOptions(parsed("check", "--quiet", "m")).quiet)
    let quiet = CommandSpec.check.options.filter { $0.id == .quiet }
    #expect(quiet.count == 1 && quiet.first?.help.contains("OK") == true)
  }
}
