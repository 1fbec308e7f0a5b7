import BatchEngine
import Foundation
import TestSupport
import Testing

@testable import batchproc

/// Help, manual, completions and the JSON description are generated from the option table and contain all of
/// it.
@Suite struct GeneratedTextTests {
  static let table = CommandTable.standard
  static let commands = table.commands
  private static let pages = ManPage(table: table, version: "1.2.3", date: "2026-01-31")
  private static let manual = pages.roff
  private let help = HelpText(table: table)

  @Test(arguments: commands)
  func helpHoldsEveryOption(command: CommandSpec) {
    let text = help.text(of: command)
    for option in command.options {
      #expect(text.has("\n  \(option.label)"), "\(option.label)")
      let missing = option.fullHelp.split(separator: " ").filter { !text.has($0) }
      #expect(missing == [])
    }
    for group in command.groups { #expect(text.contains("\n\(group.title):\n")) }
  }

  @Test func helpHasTheLayoutOfTheConvention() {
    let text = help.text(of: .hash)
    #expect(text.hasPrefix("OVERVIEW: Print digests of every regular file.\n\n"))
    #expect(text.contains("\n\nUSAGE: batchproc hash [<options>] <path> ...\n\nARGUMENTS:\n  <path>    "))
    #expect(
      text.contains("\n\nOPTIONS:\n  -a, --algorithm <algorithm>\n                          Digest to make"))
    #expect(text.contains("\n  -z, --zero              End rows in NUL"))
    #expect(text.contains("(default: auto; env:\n"))
    let overview = help.overview
    for command in GeneratedTextTests.commands { #expect(overview.contains("\n  \(command.name) ")) }
  }

  @Test(arguments: ["overview"] + commands.map(\.name))
  func helpIsAtMostEightyColumnsWide(page: String) throws {
    let command = GeneratedTextTests.table.command(named: page.utf8)
    let text = command.map(help.text(of:)) ?? help.overview
    for line in text.split(separator: "\n") {
      #expect(line.utf8.count <= 80, "\(line)")
      #expect(!line.hasSuffix(" "), "\(line)")
    }
    for status in ExitStatus.allCases { #expect(text.contains("\n  \(status.rawValue) ")) }
  }

  @Test func manualHoldsEveryOption() throws {
    for option in GeneratedTextTests.table.rootOptions + GeneratedTextTests.commands.flatMap(\.options) {
      for spelling in option.spellings {
        let roff = spelling.replacing("-", with: "\\-")
        #expect(Self.manual.has("\\fB\(roff)\\fR"), "\(spelling)")
      }
    }
    for status in ExitStatus.allCases { #expect(Self.manual.contains("\\fB\(status.rawValue)\\fR")) }
    #expect(Self.manual.contains("BATCHPROC_MAX_CONCURRENCY"))
  }

  @Test func manualIsValidRoff() throws {
    let folder = try TreeFixture()
    try folder.file("batchproc.1", Self.manual)
    let page = try Outcome(
      of: ["man", "-l", "--warnings", "batchproc.1"], environment: ["LC_ALL": "C.UTF-8", "MANWIDTH": "80"],
      in: folder)
    #expect(page.status == 0)
    #expect(page.errorText == "")
    #expect(page.text.contains("EXIT STATUS"))
  }

  @Test(arguments: commands)
  func eachCommandHasItsPage(command: CommandSpec) throws {
    let page = Self.pages.roff(of: command)
    for spelling in command.options.flatMap(\.spellings) {
      #expect(page.contains("\\fB\(spelling.replacing("-", with: "\\-"))\\fR"), "\(spelling)")
    }
    #expect(page.hasPrefix(#".TH BATCHPROC\-\#(command.name.uppercased()) 1 "2026-01-31" "batchproc 1.2.3""#))
    for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"] {
      #expect(page.contains("\n.SH \(heading)\n"))
    }
  }

  @Test(arguments: [nil] + commands.map(Optional.some))
  func manualPassesTheLinter(command: CommandSpec?) throws {
    let roff = command.map(Self.pages.roff(of:)) ?? Self.manual
    let lint = try Outcome(of: ["mandoc", "-Tlint", "-Wwarning"], input: Array(roff.utf8))
    #expect(lint.text == "" && lint.errorText == "" && lint.status == 0)
  }

  @Test(arguments: Shell.allCases)
  func completionsHoldEveryOption(shell: Shell) {
    let script = shell.completionScript(for: GeneratedTextTests.table)
    // Most options belong to several commands.
    var expected: Set<String> = []
    for option in GeneratedTextTests.table.rootOptions + GeneratedTextTests.commands.flatMap(\.options) {
      for form in option.longForms {
        expected.insert(shell == .fish ? "-l \(form.text.dropFirst(2)) " : form.text)
      }
      expected.formUnion(option.syntax?.allowedValues ?? [])
    }
    for text in expected { #expect(script.has(text), "\(text)") }
  }

  private static func isInstalled(_ program: String) -> Bool {
    (try? Outcome(shell: "command -v \(program)"))?.status == 0
  }

  @Test(arguments: Shell.allCases.filter { Self.isInstalled($0.rawValue) })
  func completionsAreAcceptedByTheirShell(shell: Shell) throws {
    let script = shell.completionScript(for: GeneratedTextTests.table)
    let check = try Outcome(of: [PathBytes(shell.rawValue), "-n", "/dev/stdin"], input: Array(script.utf8))
    #expect(check.status == 0)
    #expect(check.errorText == "")
  }

  @Test(arguments: [
    (["ha"], "hash"), (["hash", "--form"], "--format"), (["hash", "--format", "h"], "hashdeep"),
    (["hash", "--format", "="], "gnu bsd hashdeep mtree json"), (["hash", "--format", "=", "bs"], "bsd"),
    (["hash", "-q", "--color", "al"], "always"), (["check", "--on", "special", "=", "f"], "fail"),
    (["check", "--on", "special=w"], "special=warn"), (["help", "ch"], "check"), (["hash", "name"], ""),
    (["check", "x", "--no-f"], "--no-fsync"), (["--no-config", "ha"], "hash"),
    (["--profile", "ba"], ""), (["--profile", "=", "ba"], ""), (["--profile", "backup", "re"], ""),
    (["--profile", "=", "backup", "--fu"], ""), (["--generate-completion-script", "z"], "zsh"),
    (["--no-config", "--generate-completion-script", "=", "f"], "fish"),
  ])
  func bashOffersMatchingWords(words: [String], offers: String) throws {
    let quoted = (["batchproc"] + words).map { "'\($0)'" }.joined(separator: " ")
    let script = """
      \(Shell.bash.completionScript(for: GeneratedTextTests.table))
      COMP_WORDS=(\(quoted)); COMP_CWORD=\(words.count); _batchproc; echo "${COMPREPLY[*]}"
      """
    #expect(try Outcome(of: ["bash", "--norc"], input: Array(script.utf8)).text == offers + "\n")
  }

  @Test(
    .enabled(if: Self.isInstalled("fish")),
    arguments: [
      ("ha", "hash"), ("--no-config ha", "hash"), ("hash --form", "--format"), ("--profile backup re", ""),
      ("--profile backup --fu", ""), ("--profile=x ha", ""), ("help ch", "check"),
    ])
  func fishOffersMatchingWords(words: String, offers: String) throws {
    let folder = try TreeFixture()
    try folder.file("script", Shell.fish.completionScript(for: GeneratedTextTests.table))
    let run = try Outcome(
      of: [
        "fish", "-c", PathBytes("source script; complete -C 'batchproc \(words)' | cut -f 1 | head -n 1"),
      ],
      environment: ["HOME": folder.root.description, "TERM": "dumb"], in: folder)
    #expect(run.text == (offers.isEmpty ? "" : offers + "\n"), "\(run.errorText)")
  }

  @Test func descriptionIsToolInfoOfVersionZero() throws {
    let json = Data(ToolInfo(table: GeneratedTextTests.table).json)
    let info = try JSONDecoder().decode(Info.self, from: json)
    #expect(info.serializationVersion == 0)
    #expect(info.command.commandName == "batchproc")
    let subcommands = try #require(info.command.subcommands)
    #expect(subcommands.map(\.commandName) == GeneratedTextTests.commands.map(\.name))
    for (command, spec) in zip(subcommands, GeneratedTextTests.commands) {
      let named = command.arguments.filter { $0.kind != "positional" }
      #expect(named.map { $0.abstract } == spec.options.map(\.help))
      #expect(named.map { $0.names?.count } == spec.options.map(\.spellings.count))
      if ["hash", "check"].contains(spec.name) {
        let algorithm = named.first { $0.preferredName?.name == "algorithm" }
        #expect(algorithm?.allValues == HashOptions.algorithmNames)
      }
      #expect(command.arguments.filter { $0.kind == "positional" }.count == spec.operands.count)
    }
  }

  /// The part of `ToolInfoV0` that programs read.
  private struct Info: Decodable {
    struct Command: Decodable {
      let commandName: String
      let subcommands: [Command]?
      let arguments: [Argument]
    }

    struct Argument: Decodable {
      let kind: String
      let isOptional: Bool
      let isRepeating: Bool
      let shouldDisplay: Bool
      let abstract: String?
      let names: [Name]?
      let preferredName: Name?
      let allValues: [String]?
    }

    struct Name: Decodable {
      let kind: String
      let name: String
    }

    let serializationVersion: Int
    let command: Command
  }
}
