import BatchEngine
import Glibc
import TestSupport
import Testing

/// Runs of `duplicates --link hard` that are killed: each name keeps its content, and the next run links the
/// other copies and removes the remains.
@Suite(.timeLimit(.minutes(3))) struct DuplicateKillTests {
  private let t: TreeFixture
  /// The number of different contents.
  private static let groups = 12

  init() throws {
    t = try TreeFixture()
    try t.copy("many-duplicates") { try Self.makeCopies(in: $0) }
  }

  private static func makeCopies(in t: TreeFixture) throws {
    // The files of every second content are read-only, like those of a version control system.
    let made = try t.shell(
      """
      mkdir -p src/a/b src/c
      for i in $(seq \(groups)); do
        seq $i $((i * 300)) >src/f$i; [ $((i % 2)) = 0 ] || chmod 444 src/f$i
        for d in src/a src/a/b src/c; do for k in 1 2 3; do cp -p src/f$i $d/f$i-$k; done; done
      done
      """)
    try #require(made.status == 0, "\(made.errorText)")
  }

  /// A shell function that prints the names whose content changed or is missing.
  private static let lost = "lost() { diff -rq -x '.batchproc-*' src w; }"

  /// Checks the conditions that must hold after a run ended in any way, and after the next run.
  private func expectSafe(_ moment: String) throws {
    let run = try t.shell(
      """
      \(Self.lost)
      lost; $BP duplicates -q --link hard w; echo $?; find . -name '.batchproc-*'; lost
      find w -type f -printf '%i\\n' | sort -u | wc -l; find w -type f | wc -l; rm -rf w
      """)
    #expect(
      run.text == "0\n\(Self.groups)\n\(Self.groups * 10)\n", "\(moment): \(run.text)\(run.errorText)")
  }

  @Test("a kill at a random moment loses nothing")
  func randomMoments() throws {
    let turns = Campaign.cases(40)
    for turn in 0..<turns {
      try t.shell("cp -a src w")
      let run = try t.start(["duplicates", "-q", "--link", "hard", "w"])
      usleep(UInt32(turn * turn * 150_000 / (turns * turns)))
      run.signal(SIGKILL)
      _ = run.wait()
      try expectSafe("turn \(turn)")
    }
  }

  @Test(
    "a kill at each step of a link loses nothing", .enabled(if: Host.canTrace, "needs strace"),
    arguments: [
      ("syncfs", 1), ("linkat", 1), ("linkat", 40), ("renameat", 1), ("renameat", 2), ("renameat", 70),
    ])
  func atCall(call: String, turn: Int) throws {
    let run = try t.shell(
      """
      cp -a src w
      strace -qq -f -o /dev/null -e trace=\(call) -e inject=\(call):signal=KILL:when=\(turn) \
        $BP duplicates -q --link hard w; echo $?
      """)
    #expect(run.text == "137\n", "\(run.errorText)")
    try expectSafe("\(call) \(turn)")
  }

  @Test("several temporary files of a run that ended are removed, and do not count as copies")
  func leftFiles() throws {
    let run = try t.shell(
      """
      cp -a src w; boot=$(head -c 8 /proc/sys/kernel/random/boot_id)
      for i in 1 2 3; do ln w/f1 w/a/.batchproc-$boot-0000000000000000000000000000000$i.tmp; done
      $BP duplicates w | grep -c batchproc-
      """)
    #expect(run.text == "0\n", "\(run.errorText)")
    try expectSafe("several")
  }

  @Test(
    "a temporary name of a read-only file is removed when its owner runs the command again",
    .enabled(if: Host.canTrace && Host.canChangeUser, "needs strace and root"))
  func readOnly() throws {
    let run = try t.shell(
      """
      chmod 755 .; cp -a src w; chown -R 65534 w src; user="setpriv --reuid=65534 --regid=65534 --clear-groups"
      $user strace -qq -f -o /dev/null -e trace=renameat -e inject=renameat:signal=KILL:when=1 $BP duplicates -q --link hard w
      find w -name '.batchproc-*' | wc -l; $user $BP duplicates -q --link hard w; echo $?
      """)
    #expect(run.text == "1\n0\n", "\(run.text)\(run.errorText)")
    #expect(try t.shell("\(Self.lost); lost; find . -name '.batchproc-*'").text == "")
  }

  @Test("a signal leaves complete links and no temporary file", .enabled(if: Host.canTrace, "needs strace"))
  func signal() throws {
    // The calls are slowed down, so that some links are not yet made when the signal arrives.
    let run = try t.shell(
      """
      cp -a src w
      : >trace
      strace -qq -f --seccomp-bpf -o trace -e trace=renameat -e inject=renameat:delay_exit=20000 \\
        $BP duplicates -q --link hard w &
      p=$!
      until [ $(wc -l <trace) -ge 5 ]; do :; done
      kill -TERM $(head -n 1 trace | cut -d ' ' -f 1)
      wait $p
      """)
    #expect(run.status == 143, "\(run.text)\(run.errorText)")
    #expect(run.text == "")
    #expect(try t.allTemporaries() == "")
    try expectSafe("TERM")
  }

  @Test(
    "a failing call is named, and all other copies are linked", .enabled(if: Host.canTrace, "needs strace"),
    arguments: ["linkat", "renameat"], ["EIO", "ENOSPC", "EDQUOT"])
  func failingCalls(call: String, error: String) throws {
    let run = try t.shell(
      """
      cp -a src w
      strace -qq -f --seccomp-bpf -o /dev/null -e trace=\(call) -e inject=\(call):error=\(error):when=3 $BP duplicates -q --link hard w
      echo $?; find w -type f -printf '%i\\n' | sort -u | wc -l; find . -name '.batchproc-*'
      """)
    #expect(run.text == "3\n\(Self.groups + 1)\n", "\(run.text)\(run.errorText)")
    #expect(run.messages.count == 1 && run.errorText.contains(": cannot link: "), "\(run.errorText)")
    try expectSafe("\(call) \(error)")
  }

  @Test(
    "a copy is not replaced when the kept file cannot be synced",
    .enabled(if: Host.canTrace, "needs strace"))
  func failingSync() throws {
    try t.shell("cp -a src w")
    let run = try t.shell(
      """
      strace -qq -f --seccomp-bpf -o /dev/null -e trace=syncfs -e inject=syncfs:error=EIO:when=1 $BP duplicates -q --link hard w
      echo $?; find w -type f -links +1 | wc -l
      """)
    #expect(run.text == "3\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("Input/output error"), "\(run.errorText)")
    try expectSafe("syncfs")
  }
}
