import BatchCore
import BatchEngine
import Testing

@testable import batchproc

/// Rules for each declaration in the table, also for commands that are added later.
@Suite struct OptionTableTests {
  static let commands = CommandTable.standard.commands

  @Test func declaresEveryOptionAndCommand() {
    let options = CommandTable.standard.rootOptions + OptionTableTests.commands.flatMap(\.options)
    #expect(Set(options.map(\.id)) == Set(OptionID.allCases))
    #expect(OptionTableTests.commands.map(\.name) == CommandID.allCases.map(\.rawValue))
  }

  @Test(arguments: commands)
  func givesNoNameTwice(command: CommandSpec) {
    let spellings = command.options.flatMap(\.spellings)
    #expect(Set(spellings).count == spellings.count)
    #expect(Set(command.options.map(\.id)).count == command.options.count)
    #expect(Set(command.groups.map(\.title)).count == command.groups.count)
  }

  @Test(arguments: commands)
  func letsOnlyTheLastOperandRepeat(command: CommandSpec) {
    #expect(command.operands.filter { !$0.isAfterDashes }.dropLast().allSatisfy { !$0.repeats })
    #expect(command.operands.dropLast().allSatisfy { !$0.isAfterDashes })
  }

  private func operands(of command: CommandSpec) -> [PathBytes] {
    command.takesWords ? ["x", "--", "y"] : ["x"]
  }

  @Test(arguments: commands)
  func writesPlainSentences(command: CommandSpec) {
    let texts = [command.abstract] + command.discussion + command.options.map(\.help)
    for text in texts {
      #expect(text.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(text)")
      #expect(text.hasSuffix("."), "\(text)")
    }
  }

  @Test(arguments: commands)
  func namesAValueExactlyWhereOneIsTaken(command: CommandSpec) {
    for option in command.options {
      #expect((option.valueName != nil) == (option.syntax != nil), "\(option.label)")
    }
  }

  @Test(arguments: commands)
  func hasADefaultThatItsSyntaxAccepts(command: CommandSpec) throws {
    for option in command.options {
      guard case .choice(let values, _) = option.syntax, let text = option.defaultText else { continue }
      #expect(values.contains(text), "\(option.label)")
    }
  }

  /// A valid and an invalid value of each syntax.
  static func samples(_ syntax: ValueSyntax) -> (right: PathBytes, wrong: PathBytes, value: OptionValue)? {
    switch syntax {
    case .count: ("12", "twelve", .count(12))
    case .whole: ("7", "-1", .count(7))
    case .number(let range): (PathBytes("\(range.upperBound)"), "-1", .count(range.upperBound))
    case .size: ("2K", "2X", .size(2048))
    case .time: ("@12", "noon", .time(12))
    case .age: ("1w", "7", .duration(604_800))
    case .clock: ("02:30", "24:00", .clock(150))
    case .duration: ("10m", "10 months", .duration(600))
    case .span: ("2d1y", "12", .span(Retention.Span(years: 1, days: 2)))
    case .share: ("5%", "5", .percent(5))
    case .redundancy: ("150%", "-1%", .percent(150))
    case .percentage: ("40%", "101%", .count(40))
    case .load: ("pressure:1.5", "pressure:1,5", .load(.pressure(1.5)))
    case .threads: ("12", "twelve", .count(12))
    case .index: ("0", "first", .count(0))
    case .interval: ("never", "often", .count(0))
    case .step: ("10m", "often", .duration(600))
    case .choice(let values, _): values.first.map { (PathBytes($0), PathBytes($0 + "?"), .choice($0)) }
    case .file, .directory, .glob: (PathBytes([0xff]), "", .bytes(PathBytes([0xff])))
    case .policy: ("changed=retry:2", "changed", .policy(.changed, .retry(2)))
    }
  }

  @Test(arguments: commands)
  func formatsAValueAsAnArgumentThatParsesToTheSameValue(command: CommandSpec) throws {
    for syntax in command.options.compactMap(\.syntax) {
      let sample = try #require(OptionTableTests.samples(syntax))
      #expect(try syntax.parse(sample.value.argument) == sample.value, "\(syntax)")
    }
  }

  /// A profile is read from the configuration and is not an option of the command.
  private func isProfile(_ option: OptionSpec, _ command: CommandSpec) -> Bool {
    option.id == .profile && command.runsProfiles
  }

  @Test(arguments: commands.filter { !$0.operands.isEmpty })
  func parsesEverySpellingOfEveryOption(command: CommandSpec) throws {
    // The operands of a plan are those of its command.
    for option in command.options
    where ![.help, .version, .plan].contains(option.id) && !isProfile(option, command) {
      for spelling in option.spellings {
        let isLong = spelling.hasPrefix("--")
        guard let syntax = option.syntax else {
          let line = try parsed([PathBytes(command.name), PathBytes(spelling)] + operands(of: command))
          #expect(line.given == [.init(id: option.id, value: .flag(!spelling.hasPrefix("--no-")))])
          continue
        }
        let sample = try #require(OptionTableTests.samples(syntax))
        let glued = PathBytes(Array(spelling.utf8) + (isLong ? [0x3d] : []) + sample.right.bytes)
        let expected = [ParsedCommand.GivenOption(id: option.id, value: sample.value)]
        #expect(
          try parsed([PathBytes(command.name), PathBytes(spelling), sample.right] + operands(of: command))
            .given == expected)
        if isLong || !sample.right.isEmpty {
          #expect(try parsed([PathBytes(command.name), glued] + operands(of: command)).given == expected)
        }
        let message = try #require(
          refusal([PathBytes(command.name), PathBytes(spelling), sample.wrong] + operands(of: command)))
        #expect(message.contains("is invalid for '\(option.quoted(as: spelling))'"))
      }
    }
  }

  @Test(arguments: commands.filter { !$0.operands.isEmpty })
  func keepsAllValuesOnlyOfRepeatableOptions(command: CommandSpec) throws {
    for option in command.options where option.id != .plan && !isProfile(option, command) {
      guard let syntax = option.syntax else { continue }
      let sample = try #require(OptionTableTests.samples(syntax))
      let name = PathBytes("--" + option.long[0])
      let line = try parsed(
        [PathBytes(command.name), name, sample.right, name, sample.right] + operands(of: command))
      #expect(line.given.count == 2)
    }
  }
}
