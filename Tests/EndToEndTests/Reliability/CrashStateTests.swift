import Foundation
import TestSupport
import Testing

/// `scripts/crash-states.py` with few states of each command: `make crash-states` looks at all of them.
@Suite(.enabled(if: Host.canTrace && Host.hasPython, "needs strace, python3"), .timeLimit(.minutes(3)))
struct CrashStateTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func look(_ options: String) throws -> Outcome {
    try t.shell("'\(DocumentationTests.folder)/scripts/crash-states.py' $BP \(options)", seconds: 120)
  }

  @Test("what a power cut may leave is never torn, nothing is lost, and the next run completes it")
  func states() throws {
    let run = try look("--states 8")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.hasSuffix(" states, all hold\n"))
  }

  @Test("a sync that is left out, a name or a removal that is too early is found")
  func mistakes() throws {
    let run = try look(
      "--mistakes --states 400 --only '^(compress|archive|prune|duplicates)$'")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.hasSuffix(" states, all mistakes found\n"))
  }

  @Test("a mistake that is not found fails the check")
  func fails() throws {
    let run = try look("--mistakes --states 0 --only '^hash$'")
    #expect(run.status == 1)
    #expect(run.text.contains("NOT FOUND"))
  }
}
