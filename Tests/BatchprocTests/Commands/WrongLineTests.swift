import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Wrong command lines, generated from the option table. Each gets the exit code 64, one sentence and the
/// usage line, and nothing on stdout.
@Suite struct WrongLineTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("t/text", "a small text\n")
  }

  /// Values that no number, word or time may have.
  private static let wrongValues: [PathBytes] = [
    "", "-1", "-99999999999999999999", "99999999999999999999999", "1e999", "nan", "0x10", " 1", "1 ",
    "\u{660}",
    PathBytes([0xff]), PathBytes([0xc3, 0x28]), "--", "=", "ok=", "\u{1b}[2J", "\n",
  ]

  private static func isOfBytes(_ syntax: ValueSyntax) -> Bool {
    [.file, .directory, .glob].contains(syntax)
  }

  private static func lines(of command: CommandSpec) -> [[PathBytes]] {
    let name = PathBytes(command.name)
    var lines: [[PathBytes]] = []
    for option in command.settableOptions {
      let long = "--" + option.long[0]
      guard let syntax = option.syntax else {
        lines.append([name, PathBytes(long + "=1"), "t"])
        continue
      }
      lines.append([name, "t", PathBytes(long)])
      // A load has no upper limit.
      let values = isOfBytes(syntax) ? [""] : wrongValues.filter { syntax != .load || $0.bytes.count < 23 }
      lines += values.map { [name, PathBytes(Array((long + "=").utf8) + $0.bytes), "t"] }
    }
    lines += command.settableKeys.filter { $0.count > 5 }.map { key in
      let misspelt = "--" + String(key.prefix(3)) + "z" + String(key.dropFirst(4))
      return [name, PathBytes(misspelt), "t"]
    }
    return lines + [
      [name, PathBytes([0x2d, 0xff]), "t"], [name, "---", "t"], [name, "--=", "t"],
      [name, "--\u{1b}[2J", "t"],
    ]
  }

  /// Wrong lines that the table does not generate: contradictions, and missing parts.
  private static let others: [[PathBytes]] = [
    ["hsh", "t"], [""], [PathBytes([0xff])], ["-j8", "hash", "t"], ["help", "hsh"], ["--profile"],
    ["--profile", "none"], ["--profile="], ["--no-config=1"], ["--generate-completion-script", "tcsh"],
    ["archive", "t"], ["archive", "-o", "a.tar"], ["list", "a", "-v", "--bogus"], ["check", "--strict"],
    ["hash", "--min-size", "2", "--max-size", "1", "t"], ["hash", "--files-from", "-", "-"],
    ["hash", "--files-from", "-", "--exclude-from", "-"], ["archive", "-o", "a.unknown", "t"],
    ["archive", "-o", "-", "t"], ["archive", "-o", "-", "--format", "tar", "--verify", "t"],
    ["archive", "-o", "a.tar", "--level", "3", "t"], ["archive", "-o", "a.tar.gz", "--level", "20", "t"],
    ["compress", "--suffix", "a/b", "t"], ["compress", "--format", "xz", "--level", "12", "t"],
    ["list", "--long", "--digests", "a"], ["extract", "--to-stdout", "--json", "a"],
    ["cat", "--json", "a"], ["compress", "--json", "-"],
    ["archive", "--json", "-o", "-", "--format", "tar", "t"],
    ["verify", "a", "b"], ["config", "--profile", "p", "hash"], ["config", "hsh"],
    ["restore", "d", "--at", "no time"], ["mirror", "t", "-"], ["mirror", "-", "t"], ["mirror", "t", "h:t"],
    ["run", "t", "cat", "{}"], ["run", "t", "--", "cat {}"], ["run", "t", "--", "cat", "{.}"],
    ["run", "t", "--in-place", "--stdin", "--", "cat"], ["parity", "create", "-r", "5", "-c", "5", "t"],
    ["parity", "create", "-s", "6", "t"], ["parity", "verify", "-b", "5", "t"],
    ["plan", "-n", "2", "--", "hash", "t"],
    ["plan", "--shards", "2", "--out", "p", "--", "hash"],
  ]

  private func check(_ line: [PathBytes]) throws {
    let run = try CommandRun(line, in: t)
    #expect(run.status == 64, "\(line): \(run.ending) \(run.errorText)")
    #expect(run.output.isEmpty, "\(line)")
    var messages = run.errorText.split(separator: "\n", omittingEmptySubsequences: false)
    if messages.count == 5, messages[1].hasPrefix("Try: batchproc ") { messages.remove(at: 1) }
    #expect(messages.count == 4 && messages.last == "", "\(line): \(run.errorText)")
    #expect(messages.first?.contains(": ") == true && messages.first?.count ?? 0 > 12, "\(line)")
    #expect(messages.dropFirst().first?.hasPrefix("Usage: batchproc ") == true, "\(line)")
    #expect(messages.dropFirst(2).first?.hasPrefix("  See 'batchproc ") == true, "\(line)")
    #expect(!run.errors.contains { $0 < 0x20 && $0 != 0x0a || $0 == 0x7f }, "\(line)")
    #expect(String(validating: run.errors, as: UTF8.self) != nil, "\(line)")
  }

  private static let all = CommandTable.standard.commands.flatMap(lines)

  @Test("300 wrong lines from the option table are refused with 64; all of them in a campaign")
  func generated() throws {
    let count = Campaign.isFull ? Self.all.count : 300
    #expect(Self.all.count > 1000)
    for index in 0..<count { try check(Self.all[index * Self.all.count / count]) }
    #expect(t.names() == ["t"])
  }

  @Test("the parser refuses every fifth wrong line; all of them in a campaign")
  func parser() {
    let parser = CommandLineParser { _ in nil }
    let lines = stride(from: 0, to: Self.all.count, by: Campaign.isFull ? 1 : 5).map { Self.all[$0] }
    #expect(lines.filter { (try? parser.parse($0)) != nil } == [])
  }

  @Test("lines with contradictory or missing parts are refused with 64")
  func contradictions() throws {
    for line in Self.others { try check(line) }
    let misspelt = try CommandRun(["hash", "--max-concurency", "2", "t"], in: t)
    #expect(misspelt.errorText.contains("--max-concurrency'?"))
  }
}
