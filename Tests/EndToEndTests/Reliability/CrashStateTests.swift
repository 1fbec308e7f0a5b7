import Foundation
import TestSupport
import Testing

/// `scripts/crash-states.py` with a few states of each command; `make crash-states` checks all of them.
@Suite(.enabled(if: Host.canTrace && Host.hasPython, "needs strace, python3"), .timeLimit(.minutes(3)))
struct CrashStateTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  private func look(_ options: String) throws -> Outcome {
    try t.shell("'\(DocumentationTests.folder)/scripts/crash-states.py' $BP \(options)", seconds: 120)
  }

  @Test(
    "a power cut leaves no partial file and loses nothing, and the next run completes the work",
    arguments: [
      "^backup", "^(?!backup).*(parity|repair|recovery)", "^(?!backup)(?!.*(parity|repair|recovery))",
    ])
  func states(scenarios: String) throws {
    // The extreme states near the end of a run come first.
    let states = Campaign.isFull ? 5 : 3
    let run = try look("--states \(states) --only '\(scenarios)'")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.contains("\(states) states") && run.text.hasSuffix(" states, all hold\n"), "\(run.text)")
  }

  @Test("the script finds a missing sync, and a rename or a removal that is too early")
  func mistakes() throws {
    let run = try look(
      "--mistakes --states 400 --only '^(compress|archive|prune|duplicates)$'")
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.hasSuffix(" states, all mistakes found\n"))
  }

  @Test("the script fails when a mistake is not found")
  func fails() throws {
    let run = try look("--mistakes --states 0 --only '^hash$'")
    #expect(run.status == 1)
    #expect(run.text.contains("NOT FOUND"))
  }
}
