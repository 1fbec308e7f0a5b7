import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// `-o` with a device or an open pipe, as stock tools accept them.
@Suite(.timeLimit(.minutes(2))) struct SyncDeviceTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try #require(try t.shell("mkdir t; seq 300000 >t/numbers; echo x >t/x").status == 0)
  }

  @Test("the null device accepts all data and is not replaced")
  func null() throws {
    let run = try t.shell(
      """
      $BP hash -q -o /dev/null t; echo $?; $BP archive -q --force --format tar.zst -o /dev/null t; echo $?
      ln -s /dev/null n; $BP hash -q -o n t 2>e; echo $?; $BP hash -q --force -o n t; echo $?; test -c /dev/null -a -f n && echo same
      """)
    #expect(run.text == "0\n0\n1\n0\nsame\n", "\(run.errorText)")
  }

  @Test("the full device ends the run with 5")
  func full() throws {
    let run = try t.shell(
      "$BP archive -q --format tar -o /dev/full t; echo $?; $BP hash -q -o /dev/full t; echo $?")
    #expect(run.text == "5\n5\n")
    #expect(run.errorText.contains("/dev/full") && run.errorText.contains("No space left on device"))
  }

  @Test("an output may be a process substitution of bash")
  func substitution() throws {
    let run = try t.shell(
      "bash -c '$BP hash -q -o >(cat >m) t; s=$?; wait; echo $s'; sha256sum -c --quiet m && echo right")
    #expect(run.text == "0\nright\n", "\(run.errorText)")
  }

  @Test(
    "a signal ends a run whose archive is a pipe without a writer",
    arguments: ["list p", "extract p", "verify p"])
  func nobody(command: String) throws {
    try t.shell("mkfifo p")
    let program = try t.startShell("exec 8<>p; exec $BP \(command)")
    try #require(eventually { program.handlesSignals })
    program.signal(SIGTERM)
    #expect(program.wait().ending == .signal(SIGTERM))
  }

  @Test("an output that cannot be read back is refused with --verify")
  func verify() throws {
    let run = try t.shell("$BP archive -q --verify --format tar -o /dev/null t; echo $?")
    #expect(run.text == "1\n")
    #expect(run.errorText.contains("/dev/null: is a pipe or a device"))
  }

  @Test("a folder, a socket and a named pipe are refused as outputs")
  func refused() throws {
    let run = try t.shell(
      """
      python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('s')"
      mkfifo p; for o in s t p; do $BP hash -q --force -o $o t/x; echo $?; done; test -S s -a -p p && echo same
      """)
    #expect(run.text == "1\n1\n1\nsame\n")
  }
}
