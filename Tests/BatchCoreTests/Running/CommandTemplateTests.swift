import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

struct CommandTemplateTests {
  private let values = CommandTemplate.Values(
    path: "dir/a.tar.gz", below: "a.tar.gz", output: "o/.tmp/a.x", number: 12)

  private func arguments(_ words: [PathBytes], appendsPath: Bool = true) throws -> [PathBytes] {
    try CommandTemplate(words, appendsPath: appendsPath).arguments(for: [values])
  }

  @Test(
    "each fact takes the place of its name, as often as it is there",
    arguments: [
      ("{}", "dir/a.tar.gz"), ("{name}", "a.tar.gz"), ("{stem}", "a.tar"), ("{dir}", "dir"),
      ("{path}", "a.tar.gz"),
      ("{out}", "o/.tmp/a.x"), ("{n}", "12"), ("a{}b{n}{n}", "adir/a.tar.gzb1212"),
    ] as [(PathBytes, PathBytes)])
  func facts(word: PathBytes, result: PathBytes) throws {
    #expect(try arguments(["c", word]) == ["c", result])
  }

  @Test(
    "other braces stay, and two make one",
    arguments: [
      ("{{}", "{}"), ("{{name}", "{name}"), ("{x}", "{x}"), ("{", "{"), ("}", "}"), ("{ }", "{ }"),
      ("{{{}", "{dir/a.tar.gz"), ("{print $1}", "{print $1}"),
    ] as [(PathBytes, PathBytes)])
  func braces(word: PathBytes, result: PathBytes) throws {
    #expect(try arguments(["c", word], appendsPath: false) == ["c", result])
  }

  @Test("without a fact the path is added, if that is allowed")
  func appended() throws {
    #expect(try arguments(["c", "-v"]) == ["c", "-v", "dir/a.tar.gz"])
    #expect(try arguments(["c", "-v"], appendsPath: false) == ["c", "-v"])
    #expect(try arguments(["c", "{n}"]) == ["c", "12"])
  }

  @Test(
    "a path at the beginning of a word is not read as an option",
    arguments: [("{}", "./-r/-f"), ("{name}", "./-f"), ("--in={}", "--in=-r/-f"), ("{dir}", "./-r")]
      as [(PathBytes, PathBytes)])
  func dashes(word: PathBytes, result: PathBytes) throws {
    let template = try CommandTemplate(["c", word], appendsPath: true)
    let values = CommandTemplate.Values(path: "-r/-f", below: "-f", number: 1)
    #expect(template.arguments(for: [values]) == ["c", result])
  }

  @Test("several paths take the place of a word of their own")
  func several() throws {
    let template = try CommandTemplate(["c", "-x", "{}", "end"], appendsPath: true)
    let second = CommandTemplate.Values(path: "-b", below: "-b", number: 13)
    #expect(template.takesSeveral)
    #expect(template.arguments(for: [values, second]) == ["c", "-x", "dir/a.tar.gz", "./-b", "end"])
    #expect(try !CommandTemplate(["c", "--in={}"], appendsPath: true).takesSeveral)
    #expect(try !CommandTemplate(["{}", "{}"], appendsPath: true).takesSeveral)
  }

  @Test("a program that depends on the file has a folder in its path")
  func program() throws {
    let template = try CommandTemplate(["{name}"], appendsPath: true)
    #expect(template.program == nil)
    #expect(template.arguments(for: [values]) == ["./a.tar.gz"])
    #expect(try CommandTemplate(["sh", "{}"], appendsPath: true).program == "sh")
  }

  @Test(
    "no command, and words with a NUL, are invalid",
    arguments: [[], [""], ["a", PathBytes([0x61, 0])]] as [[PathBytes]])
  func invalid(words: [PathBytes]) throws {
    #expect(throws: BatchError.self) { try CommandTemplate(words, appendsPath: true) }
  }
}
