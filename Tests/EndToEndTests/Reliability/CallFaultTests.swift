import Foundation
import TestSupport
import Testing

/// `scripts/call-faults.py` with a few of its runs; `make faults` makes 4,000 with failing calls and 4,000
/// with failing allocations.
@Suite(.enabled(if: Host.canTrace && Host.hasPython, "needs strace, python3"), .timeLimit(.minutes(3)))
struct CallFaultTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func fail(_ binary: String, _ options: String) throws -> Outcome {
    try t.shell("'\(DocumentationTests.folder)/scripts/call-faults.py' \(binary) \(options)", seconds: 150)
  }

  @Test("a failing call leads to a status of the table, and loses nothing")
  func holds() throws {
    let run = try fail("$BP", "--sample \(Campaign.isFull ? 600 : 45) --seed 3")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.hasSuffix(" faults, 0 wrong\n"))
  }

  @Test("a set whose size cannot be read leads to no removal")
  func sizes() throws {
    let commands = "^(backup --init|copy|prune)$"
    let run = try fail(
      "$BP", "--only '\(commands)' --calls '^newfstatat$' --sample \(Campaign.isFull ? 90 : 18) --seed 2")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
  }

  @Test("recovery data that cannot be read are named, and none of a removed file stays")
  func recoveryData() throws {
    let commands = "^(prune|compaction) with recovery data$"
    let run = try fail(
      "$BP",
      "--only '\(commands)' --calls '^(newfstatat|pread64|openat)$' --sample \(Campaign.isFull ? 400 : 48) --seed 4"
    )
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
  }

  @Test("a failing allocation loses nothing, and never leads to success with another output")
  func allocations() throws {
    let commands = "^(hash|compress zst|decompress (gz|xz|lz4)|archive|extract|verify|backup)$"
    let run = try fail(
      "$BP", "--allocations 2000 --only '\(commands)' --sample \(Campaign.isFull ? 360 : 18) --seed 5")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.contains("signal:"), "no allocation failed: \(run.text)")
  }

  @Test("the script finds a program that hides failures")
  func fails() throws {
    try t.shell("printf '#!/bin/sh\\n%s \"$@\"\\nexit 0\\n' $BP >lenient; chmod 755 lenient")
    let run = try fail("./lenient", "--only '^hash$' --calls '^(renameat2|fsync)$'")
    #expect(run.status == 1, "\(run.errorText)")
    #expect(run.text.contains("m is not the new file after the end"), "\(run.text)")
  }
}
