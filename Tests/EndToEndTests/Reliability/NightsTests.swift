import TestSupport
import Testing

/// `scripts/nights.py` with a few nights; `make nights` simulates 90 of them.
@Suite(
  .enabled(
    if: Host.canMountImages && Host.canChangeUser && Host.hasPython, "needs root, loop devices and python3"),
  .timeLimit(.minutes(10)))
struct NightsTests {
  private let t: TreeFixture

  // The program is copied to a folder that the user of the backups can read.
  init() throws {
    t = try TreeFixture(on: .disk)
    try t.shell("chmod 755 . && cp \"$BP\" program && chmod 755 program")
  }

  @Test(
    "two machines with several jobs lose nothing through links, mounts, rot, clocks and forgotten options")
  func holds() throws {
    let nights = Campaign.isFull ? "--nights 90" : "--brief"
    let run = try t.shell(
      "python3 '\(DocumentationTests.folder)/scripts/nights.py' \"$PWD/program\" \(nights) --place \"$PWD\"",
      seconds: 500)
    #expect(run.status == 0, "\(run.text)\(run.errorText)")
    #expect(run.text.contains(" 0 problems"))
  }

  @Test("the script finds a program that removes the snapshots of other jobs")
  func fails() throws {
    try t.shell(
      #"""
      printf '#!/bin/sh\ncase $1 in backup) exec %s "$@" --group-by none;; *) exec %s "$@";; esac\n' "$PWD/program" "$PWD/program" >mixing
      chmod 755 mixing
      """#)
    let run = try t.shell(
      "python3 '\(DocumentationTests.folder)/scripts/nights.py' \"$PWD/mixing\" --nights 2 --place \"$PWD\"",
      seconds: 300)
    #expect(run.status == 1 && run.text.contains("removed ["), "\(run.text)\(run.errorText)")
  }
}
