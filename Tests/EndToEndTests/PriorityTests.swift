import BatchCore
import BatchEngine
import TestSupport
import Testing

/// What `--qos` makes of the process.
@Suite struct PriorityTests {
  @Test(
    "--qos sets how nice the process is",
    arguments: [("background", "19"), ("utility", "10"), ("default", "0")])
  func niceness(level: String, expected: String) throws {
    let t = try TreeFixture()
    // The process reads what it is itself, which the kernel tells in the nineteenth field of its status.
    let run = try t.shell(
      "mkfifo f; $BP hash --qos \(level) - <f >o 2>&1 & pid=$!; exec 3>f; until grep -q . /proc/$pid/cmdline; do :; done; until [ \"$(cut -d' ' -f19 /proc/$pid/stat)\" = \(expected) ]; do kill -0 $pid || break; done; cut -d' ' -f19 /proc/$pid/stat; exec 3>&-; wait $pid"
    )
    #expect(run.text == "\(expected)\n" && run.status == 0, "\(run.errorText)")
  }
}
