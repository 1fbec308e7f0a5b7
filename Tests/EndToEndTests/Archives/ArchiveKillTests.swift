import BatchCore
import BatchEngine
import Glibc
import TestSupport
import Testing

/// Runs that are killed: no final name holds a partial archive or file, the tree is unchanged, and the next
/// run finishes the work and removes the remains.
@Suite(.timeLimit(.minutes(4))) struct ArchiveKillTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTexts(files: 12)
    let made = try t.shell(
      "head -c 9M /dev/urandom >src/c/noise; ln -s small src/l; ln src/small src/h; chmod 750 src/a; touch -d @77 src/a/b; mkdir o"
    )
    try #require(made.status == 0)
  }

  // MARK: archive

  /// Checks the conditions that must hold after a run ended in any way, and after the next run.
  private func expectSafe(_ moment: String) throws {
    if t.exists("a.tar.zst") {
      #expect(try t.shell("$BP verify -q a.tar.zst && zstd -dcq a.tar.zst | tar -d").status == 0, "\(moment)")
    }
    #expect(try t.batchproc("archive", "-q", "--force", "-o", "a.tar.zst", "src").status == 0, "\(moment)")
    #expect(t.names() == ["a.tar.zst", "o", "src"], "\(moment)")
    try t.shell("rm a.tar.zst")
  }

  @Test("no run that is killed at a random moment leaves a partial archive")
  func randomMoments() throws {
    let turns = Campaign.cases(50)
    for turn in 0..<turns {
      let run = try t.start(["archive", "-q", "-o", "a.tar.zst", "src"])
      // The moments are spread over the start and the run, for a slow or a fast machine.
      usleep(UInt32(turn * turn * 300_000 / (turns * turns)))
      run.signal(SIGKILL)
      _ = run.wait()
      try expectSafe("turn \(turn)")
    }
  }

  @Test(
    "no run that is killed at one of its steps leaves a partial archive",
    .enabled(if: Host.canTrace, "needs strace"),
    arguments: [("openat", 25), ("pread64", 1), ("fchmod", 1), ("fsync", 1), ("renameat2", 1), ("fsync", 2)])
  func atCall(call: String, turn: Int) throws {
    let run = try t.shell(
      "strace -qq -f -o /dev/null -e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn) $BP archive -q -o a.tar.zst src; echo $?"
    )
    #expect(run.text == "137\n", "\(run.errorText)")
    // The folder is synced after the archive has its name.
    #expect(t.exists("a.tar.zst") == (call == "fsync" && turn == 2))
    try expectSafe("\(call) \(turn)")
  }

  @Test("a killed run leaves an older archive unchanged", .enabled(if: Host.canTrace, "needs strace"))
  func replacing() throws {
    try t.file("a.tar.zst", "old")
    let run = try t.shell(
      """
      strace -qq -f -o /dev/null -e trace=rename,renameat -e inject=rename,renameat:signal=KILL \\
        $BP archive -q --force -o a.tar.zst src
      echo $?
      """)
    #expect(run.text == "137\n", "\(run.text)")
    #expect(t.text("a.tar.zst") == "old")
  }

  @Test(
    "a signal ends the run by that signal, and no file is left",
    arguments: [(SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGHUP, SIGTERM)], ["tar.xz", "7z"])
  func signals(_ numbers: (sent: Int32, seen: Int32), format: String) throws {
    try t.shell("seq 3000000 >src/c/huge")
    let run = try t.start(["archive", "-l", "9", "-o", PathBytes("a." + format), "src"])
    try #require(eventually { !t.temporaries().isEmpty && run.handlesSignals })
    run.signal(numbers.sent)
    #expect(run.wait().ending == .signal(numbers.seen))
    #expect(t.names() == ["o", "src"])
  }

  @Test("of several runs with one output, one makes a complete archive and the others report why they do not")
  func rivals() throws {
    let runs = try (0..<3).map { _ in try t.start(["archive", "-q", "-o", "a.tar.zst", "src"]) }
    let ends = runs.map { $0.wait() }
    #expect(ends.filter { $0.status == 0 }.count == 1)
    for end in ends where end.status != 0 {
      #expect(end.status == 1 && end.errorText.contains("a.tar.zst: "), "\(end.ending) \(end.errorText)")
    }
    try expectSafe("rivals")
  }

  @Test("a reader of an archive that is being replaced gets the old one or the new one")
  func replacedMeanwhile() throws {
    try t.batchproc("archive", "-q", "-o", "a.tar.zst", "src")
    for _ in 0..<6 {
      let run = try t.start(["archive", "-q", "--force", "-o", "a.tar.zst", "src"])
      for command in ["verify", "list", "verify"] as [PathBytes] {
        #expect(try t.batchproc(command, "-q", "a.tar.zst").status == 0)
      }
      #expect(run.wait().status == 0)
    }
  }

  @Test(
    "the content is synced, then the archive is renamed, then the folder is synced",
    .enabled(if: Host.canTrace))
  func durability() throws {
    let calls = "fsync,syncfs,rename,renameat,renameat2,linkat,symlinkat"
    // Threads that end with the process leave lines in the trace that are not calls.
    let names = "sed -n 's/^[0-9]* *\\([a-z0-9]*\\)(.*/\\1/p' trace | uniq | tr '\\n' ' '; rm trace"
    let made = try t.shell(
      "strace -qq -f --seccomp-bpf -o trace -e trace=\(calls) $BP archive -q -o a.tar.zst src; \(names)")
    #expect(made.text == "fsync renameat2 fsync ")
    let extracted = try t.shell(
      "strace -qq -f --seccomp-bpf -o trace -e trace=\(calls) $BP extract -q -C o a.tar.zst; \(names)")
    #expect(extracted.text == "linkat symlinkat linkat syncfs ")
    let fast = try t.shell(
      "rm -r o/*; strace -qq -f --seccomp-bpf -o trace -e trace=\(calls) $BP extract -q --no-fsync -C o a.tar.zst; grep -c 'sync(' trace"
    )
    #expect(fast.text == "0\n")
  }

  // MARK: extract

  /// Checks that no name holds a partial file, and that a second run finishes the work and removes the
  /// remains.
  private func expectFinished(_ moment: String) throws {
    let wrong = try t.shell(
      "cd o; find . -type f ! -name '.batchproc-*' | while read f; do cmp $f ../$f; done")
    #expect(wrong.text == "" && wrong.errorText == "", "\(moment): \(wrong.text)\(wrong.errorText)")
    let again = try t.batchproc("extract", "-q", "--overwrite", "newer", "-C", "o", "a.tar.zst")
    #expect(again.status == 0, "\(moment): \(again.errorText)")
    #expect(try t.differences("src", "o/src") == "", "\(moment)")
    #expect(try t.allTemporaries() == "", "\(moment)")
    try t.shell("rm -rf o; mkdir o")
  }

  @Test(
    "the next extraction finishes one that was killed", .enabled(if: Host.canTrace, "needs strace"),
    arguments: [
      ("mkdirat", 2), ("pwrite64", 3), ("linkat", 1), ("linkat", 14), ("fchmod", 1), ("utimensat", 5),
      ("symlinkat", 1), ("syncfs", 1),
    ])
  func extractionKilled(call: String, turn: Int) throws {
    try t.batchproc("archive", "-q", "-o", "a.tar.zst", "src")
    let run = try t.shell(
      "strace -qq -f -o /dev/null -e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn) $BP extract -q -j 1 -C o a.tar.zst; echo $?"
    )
    #expect(run.text == "137\n", "\(run.errorText)")
    try expectFinished("\(call) \(turn)")
  }

  @Test(
    "the next extraction removes the temporary files of one that was killed", .enabled(if: Host.canPreload)
  )
  func extractionWithNames() throws {
    try t.batchproc("archive", "-q", "-o", "a.tar.zst", "src")
    // Simulates a file system that has no unnamed files.
    try t.preload(
      """
      #include <signal.h>
      #include <stdarg.h>
      #include <stdlib.h>
      int openat(int d, const char *p, int flags, ...) {
        static int (*real)(int, const char *, int, ...);
        if (!real) real = dlsym(RTLD_NEXT, "openat");
        va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list);
        if ((flags & O_TMPFILE) == O_TMPFILE) { errno = EOPNOTSUPP; return -1; }
        return real(d, p, flags, mode);
      }
      ssize_t pwrite64(int f, const void *b, size_t n, off_t o) {
        static ssize_t (*real)(int, const void *, size_t, off_t);
        static int calls;
        if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
        if (getenv("DIES") && __sync_add_and_fetch(&calls, 1) == 20) kill(getpid(), SIGKILL);
        return real(f, b, n, o);
      }
      ssize_t pwrite(int f, const void *b, size_t n, off_t o) { return pwrite64(f, b, n, o); }
      int openat64(int d, const char *p, int flags, ...) {
        va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list);
        return openat(d, p, flags, mode);
      }
      """)
    try t.shell("mv preload.* o/..")
    let killed = try t.shell("DIES=1 LD_PRELOAD=$PWD/preload.so $BP extract -q -j 1 -C o a.tar.zst; echo $?")
    #expect(killed.text == "137\n", "\(killed.errorText)")
    #expect(try t.allTemporaries() != "")
    let whole = try t.shell(
      "LD_PRELOAD=$PWD/preload.so $BP extract -q --overwrite newer -C o a.tar.zst; echo $?")
    #expect(whole.text == "0\n", "\(whole.errorText)")
    #expect(try t.allTemporaries() == "")
    #expect(try t.differences("src", "o/src") == "")
  }

  @Test(
    "an extraction is ended by the signal that it gets", .enabled(if: Host.canTrace),
    arguments: [SIGINT, SIGTERM])
  func extractionSignals(number: Int32) throws {
    try t.batchproc("archive", "-q", "-o", "a.tar.zst", "src")
    // A lane that links its first file waits for a second in the call.
    let run = try t.startShell(
      """
      strace -qq -f --seccomp-bpf -o /dev/null -e trace=linkat -e inject=linkat:delay_enter=1000000:when=1 \
        bash -c 'echo $$ >pid; exec $BP extract -q -j 1 -C o a.tar.zst'; echo $?
      """)
    try #require(eventually { t.exists("o/src") })
    try t.shell("kill -\(number) $(cat pid)")
    #expect(run.wait().text == "\(128 + number)\n")
    #expect(try t.allTemporaries() == "")
    try t.shell("rm -f pid")
    try expectFinished("signal \(number)")
  }
}
