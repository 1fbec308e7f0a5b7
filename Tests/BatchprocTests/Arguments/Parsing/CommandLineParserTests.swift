import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct CommandLineParserTests {
  @Test func readsOptionsAndOperandsInAnyOrder() throws {
    let command = try parsed("hash", "a", "-z", "b", "--format=bsd", "c", "-j", "8")
    #expect(command.command.name == "hash")
    #expect(command.operands == ["a", "b", "c"])
    #expect(command.flag(.zero))
    #expect(command.count(.maxConcurrency) == 8)
    #expect(command.choices(.format) == ["bsd"])
  }

  @Test(arguments: [["-j8"], ["-j", "8"], ["--max-concurrency=8"], ["--max-concurrency", "8"]])
  func acceptsEachWayToGiveAValue(arguments: [String]) throws {
    let command = try parsed(paths(["hash", "x"] + arguments))
    #expect(command.count(.maxConcurrency) == 8)
    #expect(command.operands == ["x"])
  }

  @Test func splitsClustersOfLetters() throws {
    let command = try parsed("hash", "-qzj8", "x", "-Lzo", "out")
    #expect(command.flag(.quiet))
    #expect(command.flag(.zero))
    #expect(command.flag(.followSymlinks))
    #expect(command.count(.maxConcurrency) == 8)
    #expect(command.bytes(.output) == "out")
  }

  @Test func treatsEverythingAfterTwoDashesAsOperands() throws {
    let command = try parsed("hash", "-z", "--", "-rf", "--help", "-", "--")
    #expect(command.operands == ["-rf", "--help", "-", "--"])
  }

  @Test func acceptsOneDashAsOperand() throws {
    #expect(try parsed("hash", "-").operands == ["-"])
  }

  @Test func usesTheNextArgumentAsValueInAnyForm() throws {
    #expect(try parsed("hash", "x", "--exclude", "--help").operands == ["x"])
    #expect(try parsed("check", "x", "-C", "-dir").bytes(.directory) == "-dir")
  }

  @Test func keepsBytesThatAreNotUTF8() throws {
    let name = PathBytes([0x6b, 0xff])
    let command = try parsed("hash", name, "-o", name, PathBytes(Array("--exclude=".utf8) + [0xfe]))
    #expect(command.operands == [name])
    #expect(command.bytes(.output) == name)
    #expect(command.bytes(.exclude) == PathBytes([0xfe]))
  }

  @Test func keepsNormalizationFormsApart() throws {
    #expect(try parsed("hash", "caf\u{e9}", "cafe\u{301}").operands == ["caf\u{e9}", "cafe\u{301}"])
  }

  @Test func usesTheLastOfSeveralValues() throws {
    #expect(try parsed("hash", "x", "-j1", "-j2", "-jauto", "-j3").count(.maxConcurrency) == 3)
    #expect(try parsed("hash", "x", "-j3", "-jauto").count(.maxConcurrency) == nil)
    #expect(try !parsed("hash", "x", "--fsync", "--no-fsync").flag(.fsync, initially: true))
    #expect(try parsed("hash", "x", "--no-fsync", "--fsync").flag(.fsync, initially: true))
  }

  @Test func refusesAbbreviations() {
    let message = refusal("hash", "--max-conc", "8", "x")
    #expect(message == "Unknown option '--max-conc'. Did you mean '--max-concurrency'?")
  }

  @Test(arguments: [
    (["--zeor"], "Unknown option '--zeor'. Did you mean '--zero'?"),
    (["--strie=4"], "Unknown option '--strie'. Did you mean '--stride'?"),
    (["--nothing-like-it"], "Unknown option '--nothing-like-it'"),
    (["-gitignore"], "Unknown option '-g'. Did you mean '--gitignore'?"),
    (["-tag"], "Unknown option '-t'. Did you mean '--tag'?"),
    (["-zy"], "Unknown option '-y'"),
    (["-j"], "Missing value for '-j <n>'"),
    (["--stride"], "Missing value for '--stride <n>'"),
    (["--zero=yes"], "The option '--zero' does not take any value, but 'yes' was specified."),
    (
      ["--stride", "0"],
      "The value '0' is invalid for '--stride <n>'. Please provide a whole number from 1 up, or 'auto'."
    ),
    (
      ["--output="],
      "The value '' is invalid for '--output <file>'. Please provide a value that is not empty."
    ),
    (["---"], "Unknown option '---'"),
    (["--=x"], "Unknown option '--'"),
  ])
  func namesTheMistake(arguments: [String], message: String) {
    #expect(refusal(paths(["hash", "x"] + arguments)) == message)
  }

  @Test func escapesWhatItQuotes() throws {
    let message = try #require(refusal("hash", PathBytes(Array("--\u{1b}[2J\n".utf8) + [0xff, 0xc2, 0x9b])))
    #expect(message == #"Unknown option '--\x1b[2J\n\xff\xc2\x9b'"#)
    #expect(refusal("hash", PathBytes([0x2d, 0xff])) == #"Unknown option '-\xff'"#)
  }

  @Test func survivesVeryLongOptions() throws {
    let long = PathBytes("--" + String(repeating: "x", count: 100_000))
    #expect(refusal("hash", long)?.hasPrefix("Unknown option '--xxx") == true)
    let digits = PathBytes("-j" + String(repeating: "9", count: 100_000))
    #expect(refusal("hash", "x", digits)?.hasSuffix("The number is too large.") == true)
  }

  @Test func requiresOperandsUnlessAListNamesThem() throws {
    #expect(refusal("hash") == "Missing expected argument '<path> ...'")
    #expect(refusal("check", "--status") == "Missing expected argument '<manifest> ...'")
    #expect(try parsed("hash", "--files-from", "list").operands.isEmpty)
    #expect(try parsed("hash", "--files0-from=-").operands.isEmpty)
  }

  @Test func describesEachCommandByItsOwnDescription() {
    #expect(CommandTable.standard.commands.map(\.name) == CommandID.allCases.map(\.rawValue))
  }

  @Test func refusesOperandsOfACommandWithoutOperands() throws {
    let single = CommandSpec(
      id: .hash, abstract: "", discussion: [], operands: [.init(name: "dir", repeats: false, help: "")],
      own: [], shared: [], examples: [])
    let table = CommandTable(abstract: "", ids: [.hash], rootOptions: []) { _ in single }
    let parser = CommandLineParser(table: table) { _ in nil }
    let error = #expect(throws: UsageError.self) { try parser.parse(["hash", "a", "b"]) }
    #expect(error?.message == "Unexpected argument 'b'")
  }

  @Test func findsTheSubcommand() {
    #expect(refusal("hsh", "x") == "Unknown command 'hsh'. Did you mean 'hash'?")
    #expect(refusal("") == "Unknown command ''")
    #expect(refusal("help", "hsh") == "Unknown command 'hsh'. Did you mean 'hash'?")
    #expect(refusal("-k8", "hash", "x") == "Unknown option '-k'")
  }

  @Test func readsStandardInputWhenNoPathIsGiven() throws {
    func operands(_ arguments: PathBytes..., hasInput: Bool = true) throws -> [PathBytes]? {
      let parser = CommandLineParser(hasInput: { hasInput }) { _ in nil }
      guard case .run(let command) = try parser.parse(arguments) else { return nil }
      return command.operands
    }
    for command: PathBytes in ["compress", "decompress", "cat", "test", "hash", "check"] {
      #expect(try operands(command) == ["-"])
      #expect(try operands(command, "x") == ["x"])
      #expect(try operands(command, "--files-from", "list") == [])
      #expect(throws: UsageError.self) { try operands(command, hasInput: false) }
    }
    #expect(throws: UsageError.self) { try operands("archive", "-o", "x.tar") }
    #expect(throws: UsageError.self) { try operands("list") }
  }

  @Test func acceptsThreadsAsConcurrency() throws {
    let name = "BATCHPROC_MAX_CONCURRENCY"
    func concurrency(_ arguments: PathBytes...) throws -> Int? {
      try CommonOptions(parsed(["compress", "x"] + arguments, environment: [name: "7"])).concurrency
    }
    #expect(try concurrency("-T3") == 3)
    #expect(try concurrency("-T0") == nil)
    #expect(try concurrency("-T0", "-j2") == 2)
    #expect(try concurrency() == 7)
  }

  @Test(arguments: [["--help"], ["-h"], ["help"], []])
  func showsTheOverview(arguments: [String]) throws {
    guard case .help(nil) = try request(paths(arguments)) else {
      Issue.record("\(arguments) asks for the overview")
      return
    }
  }

  @Test(arguments: [
    ["hash", "--help"], ["hash", "x", "-zh"], ["help", "hash"], ["hash", "-h", "--bogus"],
  ])
  func showsTheHelpOfACommand(arguments: [String]) throws {
    guard case .help(let command?) = try request(paths(arguments)) else {
      Issue.record("\(arguments) asks for help")
      return
    }
    #expect(command.name == "hash")
  }

  @Test func showsTheVersionAnywhere() throws {
    for line: [PathBytes] in [["--version"], ["check", "--version"]] {
      guard case .version = try request(line) else {
        Issue.record("\(line) asks for the version")
        return
      }
    }
  }

  @Test(arguments: Shell.allCases)
  func generatesScripts(shell: Shell) throws {
    guard case .completions(shell) = try request(["--generate-completion-script", PathBytes(shell.rawValue)])
    else {
      Issue.record("the line asks for the script of \(shell)")
      return
    }
    #expect(refusal("--generate-completion-script", "tcsh")?.contains("'bash', 'zsh' or 'fish'") == true)
  }

  @Test func readsTheConcurrencyFromTheEnvironment() throws {
    let name = "BATCHPROC_MAX_CONCURRENCY"
    #expect(try parsed("hash", "x", environment: [name: "7"]).count(.maxConcurrency) == 7)
    #expect(try parsed("hash", "-j2", "x", environment: [name: "7"]).count(.maxConcurrency) == 2)
    #expect(try parsed("hash", "-j2", "x", environment: [name: "many"]).count(.maxConcurrency) == 2)
    #expect(try parsed("hash", "x", environment: [name: ""]).count(.maxConcurrency) == nil)
    let message = refusal("hash", "x", environment: [name: "0"])
    #expect(
      message == "The value '0' is invalid for the environment variable '\(name)'."
        + " Please provide a whole number from 1 up, or 'auto'.")
  }
}
