import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Files that change while they are archived. strace stops the program at a system call until the file was
/// changed.
@Suite(
  "A file that changes while it is archived", .timeLimit(.minutes(3)),
  .enabled(if: Host.canTrace, "needs strace"))
struct ArchiveChangedTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
  }

  /// Archives `t`, and changes `t/odd` after its first piece was read, or after its first two blocks: two lanes are stopped before
  /// the third block, which more lanes could read meanwhile.
  private func changing(_ change: String, size: String, _ format: String, options: String = "") throws
    -> Outcome
  {
    try t.shell(
      """
      \(TreeFixture.stops)
      rm -f trace a.*; head -c \(size) /dev/urandom >t/odd
      strace -qq -f -o trace -P t/odd -e trace=read,pread64 -e inject=read,pread64:signal=STOP:when=1 \
        $BP archive -j 2 \(options) -o a.\(format) t & pid=$!
      stopped 1; \(change)
      finish
      """)
  }

  @Test(
    "and becomes shorter counts as failed, and is marked in the archive",
    arguments: ["3M", "20M"], ["tar", "tar.zst", "tar.gz"])
  func shrinks(size: String, format: String) throws {
    let run = try changing("truncate -s 1M t/odd", size: size, format)
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.filter { $0.hasPrefix("batchproc: t/odd: ") }.count == 1, "\(run.errorText)")
    #expect(run.messages.allSatisfy { $0.contains("shorter") }, "\(run.errorText)")
    let check = try t.shell("$BP verify a.\(format)")
    #expect(check.status == 3, "\(check.errorText)")
    #expect(check.text == "t/odd: CHANGED WHILE IT WAS READ, INCOMPLETE\n", "\(check.errorText)")
    #expect(check.errorText.contains("1 changed while read"), "\(check.errorText)")
    let list = try t.shell("$BP list -ql a.\(format) | grep changed")
    #expect(list.text.hasSuffix(" t/odd (changed while it was read, incomplete)\n") && list.rows.count == 1)
    for command in ["list", "list -l", "verify"] {
      let events = try t.shell(
        "$BP \(command) --json a.\(format) | grep -c '\"changed\":true,\"incomplete\":true'")
      #expect(events.text == "1\n", "\(command)")
    }
    // Stock tools extract all members, and the changed one contains the beginning of the file.
    let out = try t.shell(
      "mkdir -p o; tar -xf a.\(format) -C o && cmp -n 1000 o/t/odd <(head -c 1000 t/odd) && ls o/t")
    #expect(out.status == 0 && out.text == "big\nd\nempty\nodd\ntext\n", "\(out.errorText)")
  }

  @Test(
    "and becomes shorter counts as failed in formats without an index",
    arguments: [("3M", "cpio"), ("3M", "zip"), ("20M", "zip"), ("3M", "7z")])
  func shrinksInOnePiece(size: String, format: String) throws {
    let run = try changing("truncate -s 1M t/odd", size: size, format, options: "--verify")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages.filter { $0.hasPrefix("batchproc: t/odd: ") }.count == 1, "\(run.errorText)")
    #expect(run.errorText.contains("1 failed"), "\(run.errorText)")
    #expect(try t.shell("$BP verify -q a.\(format)").status == 0)
  }

  @Test("and grows gives a warning, and is marked in the archive", arguments: ["3M", "20M"])
  func grows(size: String) throws {
    let run = try changing("echo more >>t/odd", size: size, "tar.zst")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.messages == ["batchproc: warning: t/odd: changed while it was read"], "\(run.errorText)")
    let check = try t.shell("$BP verify -q a.tar.zst")
    #expect(check.status == 0 && check.text == "t/odd: CHANGED WHILE IT WAS READ\n", "\(check.errorText)")
  }

  @Test("and stays as it is has no mark")
  func stays() throws {
    let run = try changing(":", size: "3M", "tar.zst")
    #expect(run.status == 0 && run.messages.isEmpty, "\(run.errorText)")
    let read = try t.shell("$BP verify -q a.tar.zst; $BP list --json a.tar.zst | grep -c '\"changed\":true'")
    #expect(read.text == "0\n", "\(read.text)")
  }
}
