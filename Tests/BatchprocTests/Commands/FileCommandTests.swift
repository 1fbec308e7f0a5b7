import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Commands over a small tree, from their arguments to their rows, messages and statuses.
@Suite struct FileCommandTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.file("t/a", "first\n")
    try t.file("t/d/b", String(repeating: "second ", count: 3000))
  }

  private func run(_ arguments: PathBytes..., input: String = "") throws -> CommandRun {
    try CommandRun(arguments, in: t, input: Array(input.utf8), environment: ["XDG_STATE_HOME": t.state])
  }

  @Test("hash prints rows that check confirms, and check ends with 4 when a file differs")
  func hash() throws {
    let rows = try run("hash", "-q", "t")
    #expect(rows.status == 0 && rows.errors.isEmpty)
    #expect(rows.text.split(separator: "\n").map { $0.dropFirst(66) } == ["t/a", "t/d/b"])
    let good = try run("check", "-q", "-", input: rows.text)
    #expect(good.status == 0 && good.text.isEmpty, "\(good.text)\(good.errorText)")
    try t.file("t/a", "changed\n")
    let bad = try run("check", "-q", "-", input: rows.text)
    #expect(bad.status == 4 && bad.text == "t/a: FAILED\n", "\(bad.text)\(bad.errorText)")
  }

  @Test("hash names missing files, and ends with 3 if other files were read and with 1 if none were")
  func missing() throws {
    let some = try run("hash", "-q", "t/a", "none")
    #expect(some.status == 3 && some.text.hasSuffix("  t/a\n"))
    #expect(some.errorText.hasPrefix("batchproc: none: "))
    #expect(try run("hash", "-q", "none").status == 1)
  }

  @Test("compress, test and decompress restore a file", arguments: ["gz", "zst", "xz", "lz4"])
  func compress(format: String) throws {
    let content = try #require(t.content("t/d/b"))
    let packed = PathBytes("t/d/b.\(format)")
    #expect(try run("compress", "-q", "--format", PathBytes(format), "t/d/b").status == 0)
    #expect(try run("test", "-q", packed).status == 0)
    #expect(try run("cat", "-q", packed).output == content)
    try t.remove("t/d/b")
    #expect(try run("decompress", "-q", packed).status == 0)
    #expect(t.content("t/d/b") == content)
    var damaged = try #require(t.content(packed))
    damaged[damaged.count / 2] ^= 1
    try t.file(packed, damaged)
    let test = try run("test", "-q", packed)
    #expect(test.status == 4 && test.errorText.contains("\(packed): "), "\(test.errorText)")
  }

  @Test("archive, list, verify and extract restore a tree", arguments: ["tar", "tar.zst", "zip"])
  func archive(format: String) throws {
    let name = PathBytes("x.\(format)")
    #expect(try run("archive", "-q", "--no-fsync", "-o", name, "t").status == 0)
    #expect(try run("list", "-q", name).text == "t/\nt/a\nt/d/\nt/d/b\n")
    #expect(try run("verify", "-q", name).status == 0)
    #expect(try run("extract", "-q", "--no-fsync", "-C", "out", name).status == 0)
    #expect(t.content("out/t/d/b") == t.content("t/d/b") && t.content("out/t/a") == t.content("t/a"))
    let again = try run("extract", "-q", "--no-fsync", "-C", "out", name)
    #expect(again.status == 3 && again.errorText.contains("--force"), "\(again.errorText)")
  }

  @Test(
    "invalid rules for member names are refused with 64, and no file is made",
    arguments: [
      ["--transform", "a/b"], ["--transform", "s/a/b"], ["--transform", "s/[/b/"],
      ["--transform", "s/a/b/q"],
      ["--owner", "nosuchuser"], ["--owner", "4294967295"], ["--owner", "x:y"], ["--group", ""],
      ["--mode", "8"], ["--mode", "77777"], ["--mode", "u+q"], ["--mode", ""],
    ] as [[PathBytes]])
  func wrongChanges(options: [PathBytes]) throws {
    let run = try CommandRun(["archive", "-o", "x.tar"] + options + ["t"], in: t)
    #expect(run.status == 64 && run.errorText.contains("invalid for '--"), "\(run.errorText)")
    #expect(t.names() == ["t"])
  }

  @Test(
    "a file with several names that is given twice is stored once",
    arguments: ["tar", "tar.zst", "cpio", "zip"], [1, 7])
  func repeatedName(format: String, concurrency: Int) throws {
    try t.hardLink("t/c", to: "t/a")
    let output = PathBytes("x.\(format)")
    let run = try run("archive", "-j", PathBytes("\(concurrency)"), "-o", output, "t/a", "t/c", "t/a", "t")
    #expect(run.status == 0, "\(run.errorText)")
    let list = try self.run("list", "-v", output).text
    #expect(!list.contains("t/a link to t/a") && !list.contains("t/c link to t/c"), "\(list)")
    #expect(try self.run("verify", "-q", output).status == 0)
    let extracted = try self.run("extract", "-q", "-C", "out", output)
    #expect(extracted.status == 0, "\(extracted.errorText)")
    #expect(t.text("out/t/a") == "first\n" && t.text("out/t/c") == "first\n")
  }
}
