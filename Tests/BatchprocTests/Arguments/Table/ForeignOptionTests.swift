import BatchCore
import BatchEngine
import Testing

@testable import batchproc

@Suite struct ForeignOptionTests {
  @Test func explainsNoSpellingThatTheCommandAccepts() {
    for option in ForeignOption.table {
      for case let id? in option.commands {
        let taken = CommandTable.standard.describe(id).options.flatMap(\.spellings)
        #expect(Set(taken).isDisjoint(with: option.spellings), "\(id) \(option.spellings)")
      }
      #expect(!option.commands.isEmpty, "\(option.spellings)")
    }
  }

  @Test func explainsEachSpellingOncePerCommand() {
    let answered = ForeignOption.table.flatMap { option in
      option.commands.flatMap { id in option.spellings.map { "\(id?.rawValue ?? "") \($0)" } }
    }
    #expect(Set(answered).count == answered.count)
  }

  @Test func namesOnlyCommandsAndOptionsThatExist() {
    for option in ForeignOption.table {
      let words = option.answer.split { " ',;".contains($0) }.map(String.init)
      if let index = words.firstIndex(of: "batchproc") {
        let name = words[index + 1]
        let root = CommandTable.standard.rootOptions.flatMap(\.spellings)
        #expect(
          CommandTable.standard.commands.contains { $0.name == name } || root.contains(name),
          "\(option.answer)")
        continue
      }
      for case let id? in option.commands {
        let command = CommandTable.standard.describe(id)
        for word in words where word.hasPrefix("--") {
          #expect(command.options.flatMap(\.spellings).contains(word), "\(id) \(option.answer)")
        }
      }
    }
  }

  @Test("the option of each answer can be typed") func replacementsAreAccepted() {
    let values = [
      "N": "4", "DIR": "d", "FILE": "f", "ID": "latest", "FORMAT": "zst", "SIZE": "4G", "NAME": "n",
      "PERCENT": "5",
    ]
    for option in ForeignOption.table {
      guard let words = ForeignOption.replacement(in: option.answer)?.split(separator: " ") else { continue }
      for case let id? in option.commands {
        let typed = words.map { PathBytes(values[String($0)] ?? String($0)) }
        // Other options and operands of the command may be missing.
        guard let found = refusal([PathBytes(id.rawValue)] + typed + ["a", "b"]) else { continue }
        let isOfOption = ["invalid for", "Unknown option", "Missing value"].contains { found.contains($0) }
        #expect(!isOfOption, "\(id) \(option.answer): \(found)")
      }
    }
  }

  @Test(arguments: [
    (["compress", "-d", "x"], "'-d': use 'batchproc decompress'."),
    (["decompress", "--compress", "x"], "'--compress': use 'batchproc compress'."),
    (["-xf", "a.tar"], "'-x': use 'batchproc extract FILE'."),
    (["-czf", "a.tgz", "d"], "'-c': use 'batchproc archive -o FILE PATH...'."),
    (
      ["list", "-tzf", "a.tgz"],
      "'-t': not needed; -z ends rows in NUL here, and the content of the archive shows the format."
    ),
    (["archive", "--jobs", "4", "-o", "a.tar", "d"], "'--jobs': use -j N."),
    (["compress", "--zstd", "d"], "'--zstd': use --format zst."),
    (["hash", "--md5", "d"], "'--md5': use -a md5."),
    (["version"], "'version' is not a command: use 'batchproc --version'."),
    (
      ["help", "exit"],
      "'exit' is not a command: exit codes are at the end of each help, as in 'batchproc hash --help'."
    ),
    (["forget"], "'forget' is not a command: use 'batchproc prune'."),
    (["tar", "d"], "'tar' is not a command: use 'batchproc archive -o FILE PATH...'."),
    (["xzf", "a.tgz"], "'xzf' is not a command: use 'batchproc extract FILE'."),
    (["gunzip", "x"], "'gunzip' is not a command: use 'batchproc decompress'."),
    (["sha256sum"], "'sha256sum' is not a command: use 'batchproc hash'."),
    (["hashdeep"], "'hashdeep' is not a command: use 'batchproc hash', with -a for the algorithm."),
    (
      ["hash", "--profile", "x"], "'--profile': a profile has its command, use 'batchproc --profile NAME'."
    ),
    (
      ["list", "--no-config", "x"],
      "'--no-config': it stands before the command, as in 'batchproc --no-config hash'."
    ),
    (["hash", "-c", "x"], "'-c': use 'batchproc check MANIFEST'."),
    (
      ["compress", "--long=27", "x"],
      "'--long': not available; the stock tool has it, and reads and writes the same format."
    ),
  ])
  func explainsOptionsOfOtherTools(line: [String], message: String) {
    #expect(refusal(paths(line)) == message)
  }

  @Test(arguments: [
    ["hash", "-r", "p"], ["hash", "-rT4", "p"], ["compress", "-r", "--ultra", "logs"],
    ["archive", "-czf", "p.tgz", "p"], ["extract", "-xvf", "p.tgz"], ["extract", "-xzvf", "p.tgz"],
    ["list", "-tvf", "p.tgz"], ["decompress", "-d", "p.gz"], ["test", "--test", "p.gz"],
  ])
  func acceptsOptionsThatAskForTheDefault(line: [String]) throws {
    let parsed = try parsed(paths(line))
    #expect(parsed.operands.last == line.last.map { PathBytes($0) })
  }
}
