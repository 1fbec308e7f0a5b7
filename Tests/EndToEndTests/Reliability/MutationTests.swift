import Foundation
import TestSupport
import Testing

/// `scripts/mutate.py` with a few of its runs; `make mutate` makes all of them.
@Suite(.enabled(if: Host.hasPython, "needs python3"), .timeLimit(.minutes(3)))
struct MutationTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func mutate(_ binary: String, _ options: String) throws -> Outcome {
    try t.shell(
      "'\(DocumentationTests.folder)/scripts/mutate.py' \(binary) --keep kept \(options)", seconds: 150)
  }

  @Test("files with random changes lead to the right status, and to the right content when it is 0")
  func holds() throws {
    let run = try mutate("$BP", "--runs \(Campaign.cases(2000)) --seed 7")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.contains(" 0 found ("))
    #expect(t.names() == [])
  }

  @Test("the script finds a program that reports damage as success, with a file and a command for each case")
  func fails() throws {
    // The status for standard input is unchanged: formats that cannot be read from it give 5 even when
    // undamaged.
    try t.shell(
      """
      printf '#!/bin/sh\\n%s "$@"\\ns=$?\\ncase "$*" in *" -") exit $s; esac\\n[ $s = 5 ] || exit $s\\nexit 0\\n' $BP >lenient
      chmod 755 lenient
      """)
    let run = try mutate("./lenient", "--runs 60 --seed 2 --only archives")
    #expect(run.status == 1)
    #expect(run.text.contains("archives\tour.tar") && run.text.contains("0 with another content"))
    #expect(try t.shell("ls kept/*.txt | wc -l; grep -l '^extract ' kept/*.txt | wc -l").text != "0\n0\n")
  }
}
