import BatchEngine
import Foundation
import TestSupport
import Testing

/// Which targets a backup accepts, and which it refuses.
@Suite(.timeLimit(.minutes(4))) struct BackupTargetTests {
  struct Wrong: Sendable, CustomTestStringConvertible {
    let target: String
    /// Makes the target wrong; the set in `disk/bk` is known.
    var setup = ":"
    var says = "is a place on another machine"
    var options = ""
    var testDescription: String { "\(target) after \(setup)" }
  }

  private static let remote = [
    "ssh://host/bk", "sftp://host/bk", "rsync://host/module", "http://host/bk", "https://host:8000/bk",
    "s3://bucket/bk",
    "s3:bucket/bk", "b2:bucket", "gs:bucket:/", "rest:http://host:8000/", "rclone:remote:bk", "file:///bk",
    "host:/bk",
    "host:bk", "user@host:/bk", "host::module", "[::1]:/bk", "host:", ":",
  ].map { Wrong(target: $0) }

  private static let missing = [
    Wrong(target: "no/bk"), Wrong(target: "no/such/bk"), Wrong(target: "$PWD/no/bk"),
    Wrong(target: "./no/bk/"),
    Wrong(target: "dangling/bk", setup: "ln -s nowhere dangling"),
    Wrong(target: "plain/bk", setup: "echo >plain"), Wrong(target: "loop/bk", setup: "ln -s loop loop"),
  ].map { Wrong(target: $0.target, setup: $0.setup, says: "the parent directory '") }

  private static let changed =
    [
      "rm -r disk/bk", "mv disk/bk disk/old", "mv disk away", "mv disk away; mkdir disk",
      "mv disk/bk away; ln -s nowhere disk/bk",
    ].map { Wrong(target: "disk/bk", setup: $0, says: "is missing, and earlier backups used it") }
    + [
      "rm -r disk/bk; mkdir disk/bk", "rm -r disk/bk; mkdir -p disk/bk/lost+found",
      "rm -r disk/bk; mkdir disk/bk; echo other >disk/bk/file", "rm -r disk/bk; echo >disk/bk",
      "mv disk/bk away; XDG_STATE_HOME=$PWD/other $BP backup -q --to disk/bk src",
      "rm disk/bk/.backup.id", ": >disk/bk/.backup.id", "echo nonsense >disk/bk/.backup.id",
      "rm disk/bk/.backup.id; mkdir disk/bk/.backup.id", "rm disk/bk/.backup.id; mkfifo disk/bk/.backup.id",
      "mv disk/bk/.backup.id keep; ln -s ../../keep disk/bk/.backup.id", "sed -i s/$/0/ disk/bk/.backup.id",
    ].map { Wrong(target: "disk/bk", setup: $0, says: "is not the directory of earlier backups") }
    + ["disk/./bk//", "disk/../disk/bk", "$PWD/disk/bk", "./disk/bk"].map {
      Wrong(
        target: $0, setup: "rm disk/bk/.backup.id", says: "is not the directory of earlier backups")
    }
    + [
      Wrong(
        target: "disk/bk", setup: "rm -r disk/bk", says: "is missing, and earlier backups used it",
        options: "-n"),
      Wrong(
        target: "disk/bk", setup: "rm -r disk/bk", says: "is missing, and earlier backups used it",
        options: "--name other"),
      Wrong(target: "disk/bk", says: "no new set begins here", options: "--init"),
    ]

  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir src disk; echo one >src/1; $BP backup -q --to disk/bk src")
  }

  @Test(
    "a wrong target is refused with a remedy, and no file is written",
    arguments: remote + missing + changed)
  func refused(_ wrong: Wrong) throws {
    let run = try t.shell(
      """
      { \(wrong.setup); } || exit 99; cd "$XDG_STATE_HOME" && cp batchproc/sets known && cd - >/dev/null; find . | sort >"$XDG_STATE_HOME/before"
      $BP backup -q \(wrong.options) --to "\(wrong.target)" src; echo $?
      find . | sort | diff "$XDG_STATE_HOME/before" - && diff "$XDG_STATE_HOME/known" "$XDG_STATE_HOME/batchproc/sets" && echo same
      """)
    #expect(run.text == "1\nsame\n", "\(run.text)\(run.errorText)")
    let hints = ["--init", "./NAME is a local directory"]
    #expect(
      run.errorText.contains(wrong.says) && hints.contains { run.errorText.contains($0) }, "\(run.errorText)")
  }

  @Test(
    "a disk that is not mounted is noticed, and accepted after it is mounted again",
    .enabled(if: Host.canMount))
  func unmounted() throws {
    let run = try t.shell(
      """
      mkdir mnt; cat >go <<'END'
      mount -t tmpfs one mnt; $BP backup -q --to mnt src; $BP backup -q --to mnt --name second src; echo $?
      mkdir two; mount --move mnt two; $BP backup -q --to mnt src; echo $?; ls -A mnt | wc -l
      mount -t tmpfs three mnt; $BP backup -q --to mnt src; echo $?; ls -A mnt | wc -l; $BP backup -q --init --to mnt src; echo $?
      mkdir four; mount --move mnt four; mount --move two mnt; $BP backup -q --to mnt src; echo $?
      umount mnt; mount --move four mnt; $BP backup -q --to mnt src; echo $?; $BP snapshots mnt | wc -l
      END
      unshare -m --propagation private bash go
      """)
    #expect(run.text == "0\n1\n0\n1\n0\n0\n0\n0\n2\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "what earlier versions have recorded for root in its home is read until the new place has it",
    .enabled(if: Host.canMount))
  func earlierPlace() throws {
    let run = try t.shell(
      """
      mkdir -p home/.local; cp -r "$XDG_STATE_HOME" home/.local/state; cat >go <<'END'
      mount -t tmpfs none /var/lib; unset XDG_STATE_HOME; export HOME=$PWD/home; old=home/.local/state/batchproc/sets
      mv disk/bk away; mkdir disk/bk
      $BP backup -q --to disk/bk src 2>says; echo $?; grep -c "recorded in $PWD/$old" says; ls -A /var/lib disk/bk | wc -l
      chown 65534 $old; $BP backup -q --to disk/other src 2>says; echo $?; grep -c 'other users could have written it' says; chown 0 $old
      rmdir disk/bk; mv away disk/bk; cp $old before; $BP backup -q --to disk/bk src; echo $?; cmp before $old; rm $old
      mv disk/bk away; mkdir disk/bk
      $BP backup -q --to disk/bk src 2>says; echo $?; grep -c 'recorded in /var/lib/batchproc/sets' says
      END
      unshare -m --propagation private bash go
      """)
    #expect(run.text == "1\n1\n3\n0\n1\n0\n1\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a set does not begin below a mount point of /etc/fstab at which nothing is mounted, unless --init is given",
    .enabled(if: Host.canMount))
  func configured() throws {
    let run = try t.shell(
      """
      cat >go <<'END'
      mkdir mnt; echo "/dev/none $PWD/mnt ext4 noauto 0 0" >fstab; mount --bind fstab /etc/fstab
      $BP backup -q --to mnt src; echo $?; $BP backup -q -n --to mnt/bk src; echo $?; ls -A mnt | wc -l
      mount -t tmpfs one mnt; $BP backup -q --to mnt/bk src; echo $?; umount mnt
      $BP backup -q --to mnt/bk src; echo $?; $BP backup -q --init --to mnt/bk src; echo $?; $BP backup -q --to mnt/bk src; echo $?
      END
      unshare -m --propagation private bash go
      """)
    #expect(
      run.text == "1\n1\n0\n0\n1\n0\n0\n"
        && run.errorText.contains("mnt' is in /etc/fstab, and nothing is mounted there"),
      "\(run.text)\(run.errorText)")
  }

  @Test("a set begins in a new directory, and with --init in one whose parents are missing")
  func begins() throws {
    let run = try t.shell(
      """
      $BP backup --to new src 2>&1 | grep -c "new: the new set 'backup' begins with this snapshot"
      $BP backup --to new src 2>&1 | grep -c 'no set'; mv new elsewhere; $BP backup -q --to elsewhere src; echo $?
      $BP backup -q --init --to a/b/c src; echo $?; $BP backup -q --to a/b/c src; echo $?
      mkdir empty; $BP backup -q --to empty src; echo $?; $BP backup -q --to ./host:bk src; echo $?
      $BP backup -q --to $'n\\377\\n' src; echo $?; $BP backup -q --to $'n\\377\\n' src; echo $?
      grep -c '"path' "$XDG_STATE_HOME/batchproc/sets"; stat -c %a new/.backup.id "$XDG_STATE_HOME/batchproc/sets"
      """)
    #expect(
      run.text == "1\n0\n0\n0\n0\n0\n0\n0\n0\n7\n600\n", "\(run.text)\(run.errorText)")
  }

  @Test("a set of an earlier version gets an id, with a message") func adopted() throws {
    let run = try t.shell(
      """
      rm -r disk/bk/.backup.id "$XDG_STATE_HOME"; $BP backup --to disk/bk src 2>&1 | grep -c 'has snapshots but no id'
      $BP backup --to disk/bk src 2>&1 | grep -c 'no id'; mv disk/bk gone; $BP backup -q --to disk/bk src; echo $?
      """)
    #expect(run.text == "1\n0\n1\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "notes of the machine are used only if no other user can have written them; their loss is reported"
  )
  func state() throws {
    let run = try t.shell(
      """
      known="$XDG_STATE_HOME/batchproc/sets"; chmod 666 $known; $BP backup -q --to disk/bk src; echo $?; chmod 600 $known
      printf '{"type":"set","id":' >>$known; $BP backup -q --to second src; echo $?; $BP backup -q --to second src; echo $?
      rm -r second; mkdir second; $BP backup -q --to second src; echo $?
      XDG_STATE_HOME=/proc/none $BP backup -q --to third src; echo $?
      """)
    #expect(run.text == "0\n0\n0\n1\n0\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("is not used, since other users could have written it")
        && run.errorText.contains("an unmounted disk would not be noticed"), "\(run.errorText)")
  }
}
