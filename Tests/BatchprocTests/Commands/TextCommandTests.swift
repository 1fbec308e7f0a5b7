import BatchEngine
import TestSupport
import Testing

@testable import batchproc

/// Commands that print a text and read no files.
@Suite struct TextCommandTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test("the help of each command is printed with 0, in each spelling of the request")
  func help() throws {
    for command in CommandTable.standard.commands {
      let name = PathBytes(command.name)
      let texts = try [[name, "--help"], [name, "-h"], ["help", name]].map { line in
        let run = try CommandRun(line, in: t)
        #expect(run.status == 0 && run.errors.isEmpty, "\(line): \(run.errorText)")
        return run.text
      }
      #expect(texts[0].contains("USAGE: batchproc \(command.name)"), "\(command.name)")
      #expect(Set(texts).count == 1, "\(command.name)")
    }
    let overviews = try [["--help"], ["-h"], ["help"]].map { try CommandRun($0, in: t).text }
    #expect(overviews[0].contains("USAGE: batchproc ") && Set(overviews).count == 1)
  }

  @Test("the manual, the completion scripts and the version are printed with 0")
  func others() throws {
    for (line, start) in [
      (["--experimental-generate-man"], ".TH BATCHPROC 1 "),
      (["--experimental-generate-man", "hash"], #".TH BATCHPROC\-HASH 1 "#),
      (["--version"], "batchproc "), (["--experimental-dump-help"], "{"),
    ] as [([PathBytes], String)] {
      let run = try CommandRun(line, in: t)
      #expect(run.status == 0 && run.errors.isEmpty && run.text.hasPrefix(start), "\(line)")
    }
    for shell in ["bash", "fish", "zsh"] as [PathBytes] {
      let run = try CommandRun(["--generate-completion-script", shell], in: t)
      #expect(run.status == 0 && run.errors.isEmpty && run.text.contains("batchproc"), "\(shell)")
    }
  }

  @Test("a missing or unknown argument ends with 64")
  func usage() throws {
    for line in [["hash"], ["check"], ["hash", "-a", "rot13", "x"]] as [[PathBytes]] {
      let run = try CommandRun(line, in: t)
      #expect(run.status == 64 && run.output.isEmpty, "\(line): \(run.ending)")
    }
    let run = try CommandRun(["hsh"], in: t)
    #expect(run.status == 64 && run.output.isEmpty && run.errorText.contains("Did you mean 'hash'?"))
  }
}
