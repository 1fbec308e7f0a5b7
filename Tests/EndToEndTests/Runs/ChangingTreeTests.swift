import BatchCore
import BatchEngine
import TestSupport
import Testing

/// Trees that change while they are read. strace stops the program at a system call until the change is made.
@Suite(.enabled(if: Host.canTrace, "needs strace")) struct ChangingTreeTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.writeTree()
    // The file is long enough to be read in several pieces.
    try t.shell("head -c 3M /dev/urandom >t/grown")
  }

  /// Runs, stops after the first piece of `t/grown` was read, and continues after the change.
  private func changing(_ change: String, options: String = "") throws -> Outcome {
    try t.shell(
      """
      \(TreeFixture.stops)
      rm -f trace
      strace -qq -f -o trace -P t/grown -e trace=read -e inject=read:signal=STOP:when=1 $BP hash \(options) t & pid=$!
      stopped 1; \(change)
      finish
      """)
  }

  private static let changes = [
    "echo more >>t/grown", ": >t/grown", "printf X | dd of=t/grown conv=notrunc status=none",
  ]

  @Test("a file that changes while it is read is a warning by default", arguments: changes)
  func changed(change: String) throws {
    let run = try changing(change)
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.messages == ["batchproc: warning: t/grown: changed while it was read"], "\(run.errorText)")
    #expect(run.rows.count == 6)
    #expect(run.errorText.contains("1 changed meanwhile"))
  }

  @Test("a file that changes while it is read has no digest when the policy is to fail", arguments: changes)
  func changedFails(change: String) throws {
    let run = try changing(change, options: "--on changed=fail")
    #expect(run.status == 3, "\(run.errorText)")
    #expect(run.messages == ["batchproc: t/grown: changed while it was read"])
    #expect(run.rows.count == 5)
    #expect(!run.text.contains("grown"))
  }

  @Test("a file that changed once is read again when the policy says so", arguments: changes)
  func changedIsRetried(change: String) throws {
    let run = try changing(change, options: "--on changed=retry:2")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.messages.isEmpty)
    try t.file("m", run.output)
    #expect(try t.shell("sha256sum --check --quiet m").status == 0)
  }

  @Test("with changed=ok the change is reported only with -v")
  func changedIsOk() throws {
    let run = try changing("echo more >>t/grown", options: "--on changed=ok")
    #expect(run.status == 0)
    #expect(run.messages.isEmpty)
    let verbose = try changing("echo more >>t/grown", options: "-v -j 2 --on changed=ok")
    #expect(verbose.messages == ["batchproc: t/grown: changed while it was read"])
  }

  @Test("the reading of a file that grows constantly ends")
  func growsForEver() throws {
    let run = try t.shell(
      """
      (while :; do head -c 100000 /dev/zero; done >>t/grown) & writer=$!
      $BP hash t >m; echo $?; kill $writer
      """)
    #expect(run.text == "0\n")
  }

  /// Runs, stops after `t` has been listed completely, and continues after the change.
  private func afterListing(_ change: String, options: String = "") throws -> Outcome {
    try t.shell(
      """
      \(TreeFixture.stops)
      rm -f trace
      strace -qq -f -o trace -P t -e trace=getdents64 -e inject=getdents64:signal=STOP $BP hash -j 1 \(options) t & pid=$!
      calls=1; stopped 1
      until grep -q ' = 0$' trace; do go_on; calls=$((calls + 1)); stopped $calls; done
      \(change)
      finish
      """)
  }

  @Test("a file that vanishes between listing and reading is ok by default, and is named with -v")
  func vanished() throws {
    let run = try afterListing("rm t/text", options: "-v")
    #expect(run.status == 0, "\(run.errorText)")
    #expect(run.rows.count == 5)
    #expect(run.messages.count == 1)
    #expect(run.errorText.contains("batchproc: t/text: "))
  }

  @Test(
    "a file that vanishes is a warning or a failure when the policy says so",
    arguments: [
      ("warn", 0, "batchproc: warning: t/text: "), ("fail", 3, "batchproc: t/text: "),
      ("retry:2", 3, "batchproc: t/text: "),
    ])
  func vanishedByPolicy(action: String, status: Int32, message: String) throws {
    let run = try afterListing("rm t/text", options: "--on vanished=\(action)")
    #expect(run.status == status)
    #expect(run.rows.count == 5)
    #expect(run.messages.count == 1)
    #expect(run.errorText.contains(message), "\(run.errorText)")
  }

  @Test(
    "a file that was replaced by a FIFO or a link is not opened for reading",
    arguments: [
      "rm t/text; mkfifo t/text", "rm t/text; ln -s /dev/zero t/text", "rm t/text; mkdir t/text",
    ])
  func swapped(change: String) throws {
    let run = try afterListing(change)
    #expect(run.status == 0 || run.status == 3, "\(run.errorText)")
    #expect(run.rows.count == 5)
  }

  @Test(
    "a file or folder that is constantly swapped for a link never leads out of the tree",
    arguments: [
      "ln -sfn ../secret t/x; rm -f t/x; echo ok >t/x", "mv t/d t/dd; ln -s ../out t/d; rm t/d; mv t/dd t/d",
    ])
  func neverLeadsOut(swap: String) throws {
    let run = try t.shell(
      """
      echo s3cret >secret; mkdir -p out; echo s3cret >out/one; echo s3cret >out/f; bad=$(sha256sum <secret)
      (while :; do \(swap); done) 2>/dev/null & swapper=$!
      for i in 1 2 3 4 5 6 7 8 9 10 11 12; do $BP hash -q -j 4 t; done 2>/dev/null >rows
      kill $swapper; grep -c "${bad%% *}" rows; grep -c t/big rows
      """)
    #expect(run.text == "0\n12\n")
  }
}
