import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// Signals in the middle of a run, which waits for an input that does not end: a FIFO that is kept open.
@Suite struct SignalTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    try t.shell("mkfifo input")
  }

  /// A run that has written some rows to its temporary file and waits for more standard input.
  private func waiting(_ script: String = "exec $BP hash -o m t - 0<>input") throws -> RunningProgram {
    let program = try t.startShell(script)
    try #require(eventually { !t.temporaries().isEmpty && program.handlesSignals })
    return program
  }

  @Test(
    "a signal ends the run by that signal, and leaves neither a file nor a temporary file",
    arguments: [(SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGHUP, SIGTERM), (SIGQUIT, SIGQUIT)])
  func stops(sent: Int32, seen: Int32) throws {
    let program = try waiting("ulimit -c 0; exec $BP hash -o m t - 0<>input")
    program.signal(sent)
    let run = program.wait()
    #expect(run.ending == .signal(seen))
    #expect(t.names() == ["input", "t"])
    #expect(!run.errorText.contains("hashed"))
  }

  @Test("a signal ends the reading of a large file", arguments: [SIGINT, SIGTERM], ["1", "2"])
  func stopsWithinFile(number: Int32, concurrency: PathBytes) throws {
    try t.shell("truncate -s 4T t/huge")
    let program = try t.start(["hash", "-j", concurrency, "--max-hole", "5T", "-o", "m", "t"])
    try #require(eventually { !t.temporaries().isEmpty && program.handlesSignals })
    program.signal(number)
    #expect(program.wait().ending == .signal(number))
    #expect(t.names() == ["input", "t"])
  }

  @Test("a signal ends a check that waits for its manifest", arguments: [SIGINT, SIGTERM])
  func stopsCheck(number: Int32) throws {
    let program = try t.startShell("exec $BP check - 0<>input")
    try #require(eventually { program.handlesSignals })
    program.signal(number)
    #expect(program.wait().ending == .signal(number))
  }

  @Test("a shell notices that the program ended by a signal, so its loop ends as well")
  func shellSeesIt() throws {
    let run = try t.shell(
      """
      (trap - INT; exec $BP hash -o m t - 0<>input) & pid=$!
      until ls -A | grep -q '^[.]batchproc-'; do :; done
      until grep -q 'SigCgt:.*[2367abef]$' /proc/$pid/status; do :; done
      kill -TERM $pid; wait $pid; echo $?
      """)
    #expect(run.text == "143\n")
  }

  @Test("a second signal, one after a stop, and many at once also end the run")
  func manySignals() throws {
    let program = try waiting()
    program.signal(SIGSTOP)
    program.signal(SIGINT)
    program.signal(SIGTERM)
    program.signal(SIGCONT)
    for _ in 0..<20 { program.signal(SIGINT) }
    let run = program.wait()
    #expect([.signal(SIGINT), .signal(SIGTERM)].contains(run.ending), "\(run.ending)")
    #expect(t.names() == ["input", "t"])
  }

  @Test("a second signal ends a run that cannot end by itself")
  func secondSignal() throws {
    // The run is blocked since its messages are not read.
    try t.fifo("messages")
    for number in 1...3000 {
      try t.symbolicLink(PathBytes("t/link-with-a-long-name-\(number)"), to: "nowhere")
    }
    let program = try t.startShell("exec 8<>messages; exec $BP hash -v -o m t 2>messages")
    try #require(eventually { t.isFull("messages") && program.handlesSignals })
    program.signal(SIGINT)
    // A second signal that arrives before the first one was handled is merged with it, so it is sent
    // repeatedly.
    let isEnded = eventually {
      program.signal(SIGINT)
      usleep(10_000)
      return program.hasEnded
    }
    #expect(isEnded)
    #expect(program.wait().ending == .signal(SIGINT))
    #expect(t.temporaries().isEmpty)
    #expect(!t.exists("m"))
  }

  @Test("a signal ends a run whose output is not read")
  func stuckReader() throws {
    try t.shell("mkfifo output; cd t; for i in $(seq 3000); do : >file-with-a-long-name-$i; done")
    let program = try t.startShell("exec 8<>output; exec $BP hash t >output")
    try #require(eventually { t.isFull("output") && program.handlesSignals })
    program.signal(SIGINT)
    #expect(program.wait().ending == .signal(SIGINT))
  }

  @Test("USR1 prints the state of the run and the files in progress, and the run continues")
  func state() throws {
    let writer = t.path("input").withCString { open($0, O_RDWR | O_CLOEXEC) }
    try #require(writer >= 0)
    let program = try waiting("exec $BP hash -o m t - <input")
    let isShown = eventually {
      program.signal(SIGUSR1)
      usleep(10_000)
      return String(decoding: program.errorsSoFar, as: UTF8.self).contains(" s: -\n")
    }
    #expect(isShown)
    close(writer)
    let run = program.wait()
    #expect(run.status == 0)
    let line = try #require(run.errorText.split(separator: "\n").first)
    // One file may be done already, or more.
    #expect(line.contains(" file"), "\(run.errorText)")
    #expect(t.names() == ["input", "m", "t"])
  }

  @Test("a signal that was ignored at the start stays ignored")
  func ignoredHangup() throws {
    let writer = t.path("input").withCString { open($0, O_RDWR | O_CLOEXEC) }
    try #require(writer >= 0)
    let program = try waiting("trap '' HUP; exec $BP hash -o m t - <input")
    program.signal(SIGHUP)
    close(writer)
    #expect(program.wait().status == 0)
  }

  @Test("a killed run leaves no final file, and the next run removes its temporary file")
  func kill() throws {
    let program = try waiting()
    program.signal(SIGKILL)
    #expect(program.wait().ending == .signal(SIGKILL))
    #expect(!t.exists("m"))
    #expect(t.temporaries().count == 1)
    #expect(try t.batchproc("hash", "-q", "-o", "m", "t").status == 0)
    #expect(t.names() == ["input", "m", "t"])
  }

  @Test("the temporary file of a live run is kept")
  func livingTemporary() throws {
    let program = try waiting()
    #expect(try t.batchproc("hash", "-q", "-o", "other", "t").status == 0)
    #expect(t.temporaries().count == 1)
    program.signal(SIGTERM)
    _ = program.wait()
    #expect(t.temporaries().isEmpty)
  }

  @Test("after a kill at any moment the name holds the old file or the complete new one")
  func killedAnywhere() throws {
    let run = try t.shell(
      """
      mkdir t/many; for i in $(seq 500); do echo $i >t/many/$i; done
      $BP hash -q -o m t; cp m reference
      for i in $(seq 0 24); do
        $BP hash -q --force -o m t 2>/dev/null & pid=$!
        sleep 0.0$((i * 2 / 10))$((i * 2 % 10)); kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
        cmp m reference
      done
      $BP hash -q --force -o m t; ls -A
      """)
    #expect(run.text == "input\nm\nreference\nt\n", "\(run.text)")
  }
}
