import Foundation
import TestSupport
import Testing

/// `scripts/mutate.py` with few runs: `make mutate` makes all of them.
@Suite(.enabled(if: Host.hasPython, "needs python3"), .timeLimit(.minutes(3)))
struct MutationTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func mutate(_ binary: String, _ options: String) throws -> Outcome {
    try t.shell(
      "'\(DocumentationTests.folder)/scripts/mutate.py' \(binary) --keep kept \(options)", seconds: 150)
  }

  @Test("files with random changes end in the right status, and 0 means the right content")
  func holds() throws {
    let run = try mutate("$BP", "--runs \(Campaign.costlyCases(2000)) --seed 7")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.contains(" 0 found ("))
    #expect(t.names() == [])
  }

  @Test("a program that calls damage a success is found, with a file and a command for each case")
  func fails() throws {
    // Standard input is left alone: formats that cannot be read from it end with 5 even before they are damaged.
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
