import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// Runs that are killed: no content is lost, no invalid file has a final name, and the next run finishes the
/// work and removes the remains.
@Suite(.timeLimit(.minutes(5))) struct CompressKillTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTexts(files: 12)
  }

  /// Checks the conditions that must hold after a run ended in any way, and after the next run.
  private func expectSafe(_ format: StockFormat, _ moment: String) throws {
    #expect(try t.lost(in: "w", format) == "", "\(moment)")
    #expect(try t.damaged(in: "w", format) == "", "\(moment)")
    let next = try t.batchproc(
      "compress", "-q", "--format", PathBytes(format.rawValue), "--remove-source", "w")
    #expect(next.status == 0, "\(moment): \(next.errorText)")
    #expect(try t.allTemporaries() == "", "\(moment)")
    #expect(try t.lost(in: "w", format) == "", "\(moment)")
    let left = try t.shell("cd w; find . -type f ! -name '*.\(format)' | sort").text
    #expect(left == "./empty\n./small\n", "\(moment)")
    try t.shell("rm -rf w")
  }

  @Test(
    "a kill at a random moment while sources are removed loses nothing", arguments: [StockFormat.gz, .zst])
  func randomMoments(format: StockFormat) throws {
    let turns = Campaign.cases(40)
    for turn in 0..<turns {
      try t.shell("cp -a src w")
      let run = try t.start([
        "compress", "-q", "--format", PathBytes(format.rawValue), "--remove-source", "w",
      ])
      // The moments are spread over the start and the run, for a slow or a fast machine.
      usleep(UInt32(turn * turn * 400_000 / (turns * turns)))
      run.signal(SIGKILL)
      _ = run.wait()
      try expectSafe(format, "turn \(turn)")
    }
  }

  @Test(
    "a kill at each step of a batch loses nothing", .enabled(if: Host.canTrace, "needs strace"),
    arguments: [
      ("write", 9), ("fchmod", 1), ("syncfs", 1), ("renameat2", 1), ("renameat2", 20), ("fsync", 1),
      ("fsync", 2), ("unlinkat", 1), ("unlinkat", 15),
    ])
  func atCall(call: String, turn: Int) throws {
    try t.shell("cp -a src w")
    let run = try t.shell(
      """
      strace -qq -f -o /dev/null -e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn) \
        $BP compress -q --remove-source w; echo $?
      """)
    #expect(run.text == "137\n", "\(run.errorText)")
    try expectSafe(.gz, "\(call) \(turn)")
  }

  @Test("temporary files that were left are not read by any command")
  func temporariesAreNoInput() throws {
    try t.shell("mkdir w; seq 5000 >w/a")
    let killed = try t.shell(
      """
      strace -qq -f -o /dev/null -e trace=syncfs -e inject=syncfs:signal=KILL $BP compress -q w; ls -A w | wc -l
      """)
    try #require(killed.text == "2\n")
    #expect(try t.batchproc("test", "w").errorText.contains("tested 0 files"))
    #expect(try t.batchproc("decompress", "w").status == 0)
    let run = try t.batchproc("compress", "--compress-all", "-v", "-j", "2", "--output-dir", "o", "w")
    #expect(run.errorText.hasPrefix("w/a: "))
    #expect(t.names(in: "o/w") == ["a.gz"])
  }

  @Test("temporary files are removed from the folders to which a run writes", arguments: [true, false])
  func temporariesAreCleared(isMirrored: Bool) throws {
    try t.shell("mkdir -p w/d o/w/d; seq 5000 >w/d/a; seq 6000 >w/d/b")
    let name = ".batchproc-00000000-0123456789abcdef0123456789abcdef.tmp"
    let folder = isMirrored ? "o/w/d" : "w/d"
    try t.shell("echo rest >\(folder)/\(name); touch -d '-3 days' \(folder)/\(name)")
    let run = try t.batchproc(["compress"] + (isMirrored ? ["--output-dir", "o"] : []) + ["w"])
    #expect(run.status == 0, "\(run.errorText)")
    #expect(try t.allTemporaries() == "")
  }

  @Test("the temporary files of a live run are kept")
  func livingTemporaries() throws {
    try t.shell("mkdir w; seq 9000000 >w/a")
    let first = try t.start(["compress", "-l", "12", "-q", "--remove-source", "w"])
    try #require(eventually { !t.temporaries(in: "w").isEmpty && first.handlesSignals })
    try t.shell("seq 7000 >w/b")
    #expect(try t.batchproc("compress", "-q", "w/b").status == 0)
    #expect(t.temporaries(in: "w").count == 1)
    first.signal(SIGTERM)
    #expect(first.wait().ending == .signal(SIGTERM))
    #expect(t.names(in: "w") == ["a", "b", "b.gz"])
  }

  @Test("a signal removes unfinished outputs, and the sources are kept", arguments: [SIGINT, SIGTERM])
  func signals(number: Int32) throws {
    try t.shell("seq 5000000 >src/huge; cp -a src w")
    let run = try t.start(["compress", "-l", "12", "-q", "--remove-source", "w"])
    try #require(eventually { !t.temporaries(in: "w").isEmpty && run.handlesSignals })
    run.signal(number)
    #expect(run.wait().ending == .signal(number))
    #expect(try t.allTemporaries() == "")
    #expect(try t.lost(in: "w", .gz) == "")
    #expect(try t.damaged(in: "w", .gz) == "")
  }

  @Test("a signal in the middle of a large file leaves no output of it", arguments: [SIGINT, SIGTERM])
  func signalInLargeFile(number: Int32) throws {
    try t.shell("mkdir w; seq 5000000 >w/big")
    let run = try t.start(["compress", "-l", "12", "--remove-source", "w"])
    try #require(eventually { !t.temporaries(in: "w").isEmpty && run.handlesSignals })
    run.signal(number)
    #expect(run.wait().ending == .signal(number))
    #expect(t.names(in: "w") == ["big"])
  }

  @Test("two runs on one tree lose nothing")
  func twoRuns() throws {
    try t.shell("cp -a src w")
    let runs = try (0..<2).map { _ in try t.start(["compress", "-q", "--remove-source", "w"]) }
    for run in runs { #expect([0, 3].contains(run.wait().status)) }
    try expectSafe(.gz, "two runs")
  }

  @Test(
    "a source is removed only after contents, names and folders were synced",
    .enabled(if: Host.canTrace, "needs strace"), arguments: ["compress", "decompress"])
  func durabilityOrder(command: String) throws {
    try t.shell(
      "mkdir w; for i in 1 2 3; do seq $((i * 999)) >w/$i; done; [ \(command) = compress ] || gzip w/*")
    let calls = "fsync,syncfs,rename,renameat,renameat2,unlink,unlinkat"
    // Threads that end with the process leave lines in the trace that are not calls ("???").
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o trace -e trace=\(calls) $BP \(command) --remove-source w
      grep -oE '^[0-9]+ +[a-z]+[0-9]?\\(' trace | tr -d '(' | awk '{print $2}' | uniq -c | awk '{print $1, $2}'
      """)
    #expect(run.text == "1 syncfs\n3 renameat2\n1 fsync\n3 unlinkat\n", "\(run.text)")
  }

  @Test("--no-fsync makes no sync call", .enabled(if: Host.canTrace, "needs strace"))
  func withoutSync() throws {
    let run = try t.shell(
      "cp -a src w; strace -qq -f --seccomp-bpf -o trace -e trace=fsync,syncfs,fdatasync $BP compress --no-fsync -q w; grep -c 'sync(' trace"
    )
    #expect(run.text == "0\n")
  }

  @Test(
    "each failing call is reported, and nothing is lost", .enabled(if: Host.canTrace, "needs strace"),
    arguments: [
      ("write", 5, 5), ("syncfs", 1, 5), ("fsync", 1, 5), ("renameat2", 3, 5), ("fchmod", 2, 5),
      ("unlinkat", 2, 3), ("pread64", 4, 5),
    ])
  func failingCalls(call: String, turn: Int, status: Int32) throws {
    try t.shell("cp -a src w")
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o /dev/null -e trace=\(call) -e inject=\(call):error=EIO:when=\(turn) \
        $BP compress --remove-source w
      """)
    #expect(run.status == status, "\(run.errorText)")
    // The write of the message may be the one that fails.
    #expect(!run.messages.isEmpty || call == "write")
    #expect(run.messages.allSatisfy { $0.hasSuffix(": Input/output error") }, "\(run.messages)")
    #expect(try t.allTemporaries() == "")
    try expectSafe(.gz, call)
  }
}
