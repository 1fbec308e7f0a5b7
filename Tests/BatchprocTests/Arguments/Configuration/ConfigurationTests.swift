import BatchCore
import BatchEngine
import Testing

@testable import batchproc

/// How files, variables, profiles and the command line override each other.
@Suite struct ConfigurationTests {
  private func configuration(_ texts: String...) throws(UsageError) -> Configuration {
    var files: [ConfigurationFile] = []
    for (index, text) in texts.enumerated() {
      files.append(try ConfigurationFile(Array(text.utf8), at: PathBytes("/\(index).conf")))
    }
    return Configuration(files: files)
  }

  private func parsed(
    _ arguments: [PathBytes], _ configuration: Configuration, _ environment: [String: PathBytes] = [:]
  ) throws -> ParsedCommand {
    let parser = CommandLineParser(
      configuration: { () throws(UsageError) in configuration }, environment: { environment[$0] })
    guard case .run(let command) = try parser.parse(arguments) else {
      throw BatchError(.invalid, "the line runs no command")
    }
    return command
  }

  private func refusal(_ text: String) -> String? {
    do throws(UsageError) {
      _ = try configuration(text)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func eachSourceOverridesTheOneBefore() throws {
    let files = try configuration("stride = 1\n[hash]\nstride = 2", "stride = 3\n[hash]\nstride = 4")
    #expect(try parsed(["hash", "x"], files).count(.stride) == 4)
    #expect(try parsed(["check", "x"], files).count(.stride) == 3)
    let variable: [String: PathBytes] = ["BATCHPROC_STRIDE": "5"]
    #expect(try parsed(["hash", "x"], files, variable).count(.stride) == 5)
    #expect(try parsed(["hash", "--stride", "6", "x"], files, variable).count(.stride) == 6)
    let section = try configuration("[hash]\nstride = 2", "stride = 3")
    #expect(try parsed(["hash", "x"], section).count(.stride) == 3)
  }

  @Test func aProfileMayHoldAWholeJob() throws {
    let files = try configuration(
      """
      stride = 1
      [profile night]
      operand = /a b
      operand = /c
      stride = 2
      force
      command = hash
      """)
    let job = try parsed(["--profile", "night"], files, ["BATCHPROC_STRIDE": "5"])
    #expect(job.command.name == "hash")
    #expect(job.operands == ["/a b", "/c"])
    #expect(job.count(.stride) == 2 && job.flag(.force))
    let other = try parsed(["--profile=night", "--stride", "7", "x"], files)
    #expect(other.operands == ["x"])
    #expect(other.count(.stride) == 7)
  }

  @Test func replacesAllValuesOfARepeatableOption() throws {
    let files = try configuration("exclude = a\nexclude = b\ninclude = c", "[hash]\nexclude = d\nexclude = e")
    let line = try parsed(["hash", "x"], files)
    #expect(
      line.given.map(\.value) == [.bytes("c"), .bytes("d"), .bytes("e")])
    #expect(
      try parsed(["hash", "--exclude", "f", "x"], files).given.map(\.value) == [.bytes("c"), .bytes("f")])
  }

  @Test func readsValuesUnchanged() throws {
    let files = try configuration(
      "# exclude = z\n; exclude = z\n\n exclude\t=  a = b # c \r\nexclude=\"  d \"\nexclude = \"\nno-fsync\nqos=utility"
    )
    let line = try parsed(["hash", "x"], files)
    #expect(
      line.given.map(\.value) == [
        .bytes("a = b # c"), .bytes("  d "), .bytes("\""), .flag(false), .choice("utility"),
      ])
    for (word, state) in [("true", true), ("no", false), ("on", true), ("0", false)] {
      #expect(try parsed(["hash", "x"], try configuration("json = \(word)")).flag(.json) == state)
    }
  }

  @Test(arguments: [
    ("\nmax-concurency = 2", "/0.conf:2: Unknown key 'max-concurency'. Did you mean 'max-concurrency'?"),
    ("[hsh]", "/0.conf:1: Unknown section '[hsh]'. Did you mean '[hash]'?"),
    ("[hash", "/0.conf:1: The section '[hash' does not end in ']'."),
    ("[profil a]", "/0.conf:1: Unknown section '[profil a]'. Did you mean '[profile NAME]'?"),
    ("[profile]", "/0.conf:1: Unknown section '[profile]'. Did you mean '[profile NAME]'?"),
    ("[hash]\nlevel = 2", "/0.conf:2: Unknown key 'level'"),
    (
      "level",
      "/0.conf:1: The value 'true' is invalid for 'level'. Please provide a whole number."
    ),
    ("json = maybe", "/0.conf:1: The value 'maybe' is invalid for 'json'. Please provide 'true' or 'false'."),
    ("force = true", "/0.conf:1: The key 'force' may stand in a profile only."),
    ("[compress]\nremove-source", "/0.conf:2: The key 'remove-source' may stand in a profile only."),
    ("help = true", "/0.conf:1: Unknown key 'help'"),
    ("[profile a]\nstride = 2", "/0.conf:1: The profile has no 'command'."),
    ("[profile a]\ncommand = hsh", "/0.conf:2: Unknown command 'hsh'. Did you mean 'hash'?"),
    ("[profile a]\ncommand = hash\noperant = x", "/0.conf:3: Unknown key 'operant'. Did you mean 'operand'?"),
    ("[profile a]\ncommand = hash\n[profile a]", "/0.conf:3: The profile 'a' is there already."),
    (" = 2", "/0.conf:1: Expected 'key = value' or '[section]' in place of '= 2'."),
    ("\0", "/0.conf:1: A line with a NUL byte."),
  ])
  func namesTheMistake(text: String, message: String) {
    #expect(refusal(text) == message)
  }

  @Test func appliesAValueToTheCommandsThatHaveIt() throws {
    let files = try configuration("format = zst")
    #expect(try parsed(["compress", "x"], files).choices(.format) == ["zst"])
    #expect(throws: UsageError.self) { try parsed(["hash", "x"], files) }
  }

  @Test func readsNothingWhenHelpIsRequested() throws {
    let parser = CommandLineParser(
      configuration: { () throws(UsageError) in throw UsageError("read", in: nil) }, environment: { _ in nil }
    )
    for line: [PathBytes] in [["hash", "--help"], ["--version"], ["help"], ["--no-config", "hash", "x"]] {
      _ = try parser.parse(line)
    }
    #expect(throws: UsageError.self) { try parser.parse(["hash", "x"]) }
  }

  @Test func refusesOptionsThatRemoveFilesInTheEnvironment() throws {
    #expect(throws: UsageError.self) {
      try parsed(["hash", "x"], .empty, ["BATCHPROC_FORCE": "true"])
    }
    #expect(try parsed(["hash", "--force", "x"], .empty, ["BATCHPROC_FORCE": "true"]).flag(.force))
  }

  @Test func ignoresTheVariablesOfHooks() throws {
    #expect(try parsed(["check", "x"], .empty, ["BATCHPROC_STATUS": "3"]).given.isEmpty)
  }

  /// No two options of a command have the same variable or key.
  @Test(arguments: CommandTable.standard.commands)
  func givesEachOptionItsVariable(command: CommandSpec) {
    let variables = command.settableOptions.map(\.variable)
    #expect(Set(variables).count == variables.count)
    #expect(variables.allSatisfy { $0.hasPrefix("BATCHPROC_") })
    for key in command.settableKeys { #expect(command.settable(key) != nil) }
  }
}
