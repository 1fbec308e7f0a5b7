import BatchEngine
import Foundation
import TestSupport
import Testing

/// The sample script that copies snapshots to another place; a folder serves as the remote of rclone.
@Suite(
  .enabled(if: (try? Outcome(shell: "command -v rclone"))?.status == 0), .timeLimit(.minutes(3)))
struct OffsiteTests {
  private let t: TreeFixture
  private static let script = Repository.root.appendingPathComponent("samples/cron/offsite.sh")
    .path

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir src set; echo a >src/a; : >rclone.conf")
  }

  /// Runs a script in which `offsite` copies `set` to `far`, `back_up` makes a snapshot, and `far` lists the copies.
  private func run(_ script: String) throws -> Outcome {
    try t.shell(
      """
      export RCLONE_CONFIG="$PWD/rclone.conf" OFFSITE='\(Self.script)'
      offsite() { sh "$OFFSITE" set far "$@" 2>>log; echo $?; }
      back_up() { echo $1 >>src/a; "$BP" backup -q --to set src; }
      far() { ls far | sed 's/.*Z[.]//' | sort | uniq -c | tr -s ' \\n' ' ' | sed 's/^ //'; echo; }
      \(script)
      """)
  }

  @Test("snapshots are copied without lock files, and pruned ones are removed from the copy")
  func copies() throws {
    let run = try run(
      """
      back_up 1; back_up 2; offsite; far; ls -a set far | grep -c '[.]lock'
      "$BP" restore -q far -C out && cat out$PWD/src/a out/src/a 2>/dev/null
      "$BP" backup -q --full --to set src && "$BP" prune -q --keep-last 1 set; offsite; far; cat log
      """)
    #expect(
      run.text
        == "0\n1 manifest 2 manifest.zst 2 tar.zst \n1\na\n1\n2\n0\n1 manifest 1 manifest.zst 1 tar.zst \n",
      "\(run.text)\(run.errorText)")
  }

  /// What `far` prints for one snapshot.
  private let first = "1 manifest 1 manifest.zst 1 tar.zst \n"

  @Test("a folder without a manifest stops the script, and no copy is removed")
  func empty() throws {
    let run = try run(
      """
      back_up 1; offsite; mv set/*.manifest* .; offsite; far; rm -r set; offsite; far; mkdir set; offsite; far
      grep -c 'no manifest' log
      """)
    #expect(
      run.text == "0\n1\n\(first)3\n\(first)1\n\(first)2\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("nothing is removed when more files than allowed would be removed")
  func bounded() throws {
    let run = try run(
      """
      back_up 1; back_up 2; back_up 3; offsite; "$BP" backup -q --full --to set src; "$BP" prune -q --keep-last 1 set
      offsite 5; far; grep -c 'nothing is removed' log; offsite 6; far
      """)
    #expect(
      run.text == "0\n1\n1 manifest 4 manifest.zst 4 tar.zst \n1\n0\n\(first)", "\(run.text)\(run.errorText)")
  }

  @Test(
    "as the hook of a backup, it does nothing after a failure and removes nothing after an incomplete run")
  func outcome() throws {
    let run = try run(
      """
      back_up 1; offsite
      "$BP" backup -q --to set --after 'sh "$OFFSITE" set far' gone 2>errors; echo $?; grep -c 'the backup failed' errors; far
      "$BP" backup -q --full --to set src; mv "$(ls set/*.manifest.zst | head -n 1)" .
      BATCHPROC_OUTCOME=incomplete offsite; far; BATCHPROC_OUTCOME=success offsite; far
      """)
    #expect(
      run.text
        == "0\n1\n1\n\(first)0\n1 manifest 2 manifest.zst 2 tar.zst \n0\n1 manifest 1 manifest.zst 2 tar.zst \n",
      "\(run.text)\(run.errorText)")
  }

  @Test("a copy that differs from its file is named and kept")
  func different() throws {
    let run = try run(
      """
      back_up 1; offsite; sum=$(cat far/*.tar.zst | sha256sum); printf x >>"$(ls set/*.tar.zst)"; offsite
      [ "$sum" = "$(cat far/*.tar.zst | sha256sum)" ] && grep -c 'immutable file modified' log
      """)
    #expect(run.text.hasPrefix("0\n6\n") && run.text.count > 4, "\(run.text)\(run.errorText)")
  }
}
