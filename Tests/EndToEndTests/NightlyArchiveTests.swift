import BatchCore
import BatchEngine
import Foundation
import TestSupport
import Testing

/// The script of `samples/cron`, run as cron runs it: hardly any environment, no locale, no terminal, nothing on
/// standard input, and a strict umask.
@Suite(.timeLimit(.minutes(3))) struct NightlyArchiveTests {
  private let t: TreeFixture
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("samples/cron").path

  init() throws {
    t = try TreeFixture()
    try t.writeTree("srv/photos")
    try t.shell(
      "printf x >$'srv/photos/na\\xc3\\xafve'; printf y >$'srv/photos/b\\xffd'; ln -s text srv/photos/link; mkdir b"
    )
  }

  /// Prints what the run printed, then its status after `status`.
  private func night(
    _ tree: String = "$PWD/srv/photos", prepare: String = ":", binary: String = "$BP", umask: String = "077",
    environment: String = ""
  ) throws -> Outcome {
    try t.shell(
      """
      \(prepare); (umask \(umask); env -i PATH=/usr/bin:/bin BATCHPROC="\(binary)" LC_ALL=C \(environment) \
        setsid -w sh '\(Self.folder)/nightly-archive.sh' \(tree) $PWD/b </dev/null >mail 2>&1; echo $? >status)
      cat status mail
      """)
  }

  private var today: String {
    get throws { try t.shell("date +photos-%Y-%m-%d.tar.zst").text.trimmingCharacters(in: .newlines) }
  }

  @Test("a good night says nothing, and leaves an archive that stock tar reads", arguments: ["077", "022"])
  func good(umask: String) throws {
    // The second run of a day replaces what the first one made.
    for _ in 1...2 { #expect(try night(umask: umask).text == "0\n") }
    let run = try t.shell(
      """
      stat -c '%a %n' b/*; mkdir out; zstd -dcq b/photos-*.tar.zst | tar --warning=no-unknown-keyword -xf - -C out
      diff -r --no-dereference srv/photos out/photos; ls -A b | grep -c batchproc-; $BP verify -q b/photos-*; echo $?
      """)
    #expect(
      run.text == "600 b/\(try today)\n0\n0\n" && run.errorText == "",
      "\(run.text)\(run.errorText)")
  }

  @Test(
    "a member that cannot be read: all others are archived, and the mail names it",
    .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    let run = try t.shell(
      """
      chmod -R a+rwX . ; chmod 0 srv/photos/big; umask 077
      setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH=/usr/bin:/bin BATCHPROC="$BP" LC_ALL=C \
        setsid -w sh '\(Self.folder)/nightly-archive.sh' $PWD/srv/photos $PWD/b </dev/null; echo $?
      $BP list -q b/photos-*
      """)
    #expect(run.text.hasPrefix("3\nphotos/\n") && !run.text.contains("big"), "\(run.text)")
    for part in [
      "batchproc: photos/big: cannot open: Permission denied", "status:  3", "\(try today) (is there)",
      "to do: ",
    ] {
      #expect(run.errorText.contains(part), "\(part): \(run.errorText)")
    }
  }

  @Test("a full disk: the mail tells it, and the archive of before is as it was", .enabled(if: Host.canMount))
  func fullDisk() throws {
    try t.shell("head -c 3M /dev/urandom >srv/photos/noise; echo '\(try today)' >name")
    let run = try t.shell(
      """
      unshare -m sh -c 'mount -t tmpfs -o size=1m none b; echo before >b/photos-2001-01-01.tar.zst; umask 077
        env -i PATH=/usr/bin:/bin BATCHPROC="$BP" LC_ALL=C setsid -w sh "\(Self.folder)/nightly-archive.sh" \
          $PWD/srv/photos $PWD/b </dev/null; echo $?; ls b; ls -A b | grep -c batchproc-; cat b/photos-2001-01-01.tar.zst'
      """)
    #expect(run.text == "5\nphotos-2001-01-01.tar.zst\n0\nbefore\n", "\(run.text)\(run.errorText)")
    for part in ["No space left on device", "status:  5", "(is not there)", "free some space"] {
      #expect(run.errorText.contains(part), "\(part): \(run.errorText)")
    }
  }

  @Test("no source, no folder for archives, no batchproc: the mail says which, and nothing is made")
  func missing() throws {
    let source = try night("$PWD/srv/nosuch")
    #expect(source.text.hasPrefix("1\nnightly-archive.sh: there is no folder /"), "\(source.text)")
    #expect(source.text.contains("/srv/nosuch, or it cannot be entered"), "\(source.text)")
    #expect(try night("$PWD/nosuch/photos").text.hasPrefix("1\nnightly-archive.sh: there is no folder "))
    let tool = try night(binary: "nosuch")
    #expect(tool.text.hasPrefix("127\n") && tool.text.contains("there is no nosuch in "), "\(tool.text)")
    #expect(t.names(in: "b").filter { $0 != ".nightly-archive.lock" } == [])
    let folder = try night(prepare: "rm -r b")
    #expect(folder.text.hasPrefix("5\n") && folder.text.contains("there is no folder"), "\(folder.text)")
  }

  @Test("of two runs at once the second says so, and the first goes on")
  func twoAtOnce() throws {
    try t.file("slow", "#!/bin/sh\n: >begun\nread word <gate\nexec \"\(Host.binary)\" \"$@\"\n")
    let run = try t.shell(
      """
      chmod +x slow; mkfifo gate; exec 8<>gate
      env -i PATH=/usr/bin:/bin BATCHPROC=$PWD/slow sh '\(Self.folder)/nightly-archive.sh' srv/photos b &
      until [ -e begun ]; do :; done
      env -i PATH=/usr/bin:/bin BATCHPROC="$BP" sh '\(Self.folder)/nightly-archive.sh' srv/photos b; echo $?
      echo go >&8; echo go >&8; wait $!; echo $?; $BP verify -q b/photos-*; echo $?
      """)
    #expect(run.text == "11\n0\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("another run is at work"), "\(run.errorText)")
    #expect(run.errorText.split(separator: "\n").filter { $0.contains("nightly-archive.sh: ") }.count == 1)
  }

  @Test(
    "an archive that comes back as something else gets no name, and that of before stays",
    .enabled(if: Host.canPreload, "needs cc"))
  func ruined() throws {
    try t.preloadRuin("pread(fd, &c, 1, 90); c ^= 16; pwrite(fd, &c, 1, 90)")
    try t.file(
      "bad", "#!/bin/sh\nLD_PRELOAD=\"$(dirname \"$0\")/preload.so\" exec \"\(Host.binary)\" \"$@\"\n")
    let run = try night(prepare: "chmod +x bad; echo before >b/\(try today)", binary: "$PWD/bad")
    #expect(
      run.text.hasPrefix("5\nnightly-archive.sh: what was read back is not what was archived\n"),
      "\(run.text)")
    for part in ["status:  5", "(is there)", "check the disk and the memory"] {
      #expect(run.text.contains(part), "\(part): \(run.text)")
    }
    #expect(t.names(in: "b") == [".nightly-archive.lock", PathBytes(try today)])
    #expect(t.content(PathBytes("b/\(try today)")) == Array("before\n".utf8))
  }

  @Test(
    "a link to a tree, a slash behind it and . stand for the tree",
    arguments: ["$PWD/link", "$PWD/srv/photos/", "$PWD/srv/photos//", "$PWD/link/", "srv/../link", ".", "./"])
  func spelling(tree: String) throws {
    let here = tree.hasPrefix(".") ? "cd srv/photos; ln -s ../../b b" : ":"
    let run = try t.shell(
      """
      ln -s srv/photos link; here=$PWD; \(here); env -i PATH=/usr/bin:/bin BATCHPROC="$BP" \
        sh '\(Self.folder)/nightly-archive.sh' \(tree) b 2>&1; echo $?; cd $here; rm -f srv/photos/b; ls b
      $BP list b/photos-* | grep -vx photos/b | sort >found; find srv/photos -printf '%P\\n' | wc -l; wc -l <found; grep -cx photos/text found
      """)
    let count = try t.shell("find srv/photos | wc -l").text
    #expect(run.text == "0\n\(try today)\n\(count)\(count)1\n", "\(run.text)\(run.errorText)")
  }

  @Test("an empty tree and one that is not mounted are refused unless told, and replace no archive")
  func empty() throws {
    try t.shell("echo before >b/\(try today); mkdir srv/empty srv/empty/lost+found srv/photos/sub")
    try t.shell("sed s/photos/empty/ <<<'\(try today)' | xargs -I% cp b/\(try today) b/%")
    let empty = try night("$PWD/srv/empty")
    #expect(empty.text.hasPrefix("1\nnightly-archive.sh: the tree is empty\n"), "\(empty.text)")
    // The line of fstab may be that of a folder above.
    for place in ["srv/photos", "srv"] {
      let unmounted = try night(
        prepare: "echo none $PWD/\(place) tmpfs noauto 0 0 >fstab", environment: "LIBMOUNT_FSTAB=$PWD/fstab")
      #expect(
        unmounted.text.hasPrefix("1\nnightly-archive.sh: \(t.root)/\(place) is not mounted\n"),
        "\(unmounted.text)")
    }
    #expect(try t.shell("cat b/*.zst").text == "before\nbefore\n")
    #expect(try night("$PWD/srv/photos", environment: "LIBMOUNT_FSTAB=/dev/null").text == "0\n")
    #expect(try night("--allow-empty $PWD/srv/empty").text == "0\n")
    #expect(try t.shell("$BP list -q b/empty-*").text == "empty/\nempty/lost+found/\n")
  }

  @Test(
    "the lock is a file of this user that nobody else can open; a link or a file in its place is refused",
    .enabled(if: Host.canChangeUser))
  func lock() throws {
    // What an earlier version left.
    try t.shell(": >b/.nightly-archive.lock; chmod 644 b/.nightly-archive.lock")
    #expect(try night().text == "0\n")
    #expect(try t.shell("stat -c '%a %s' b/.nightly-archive.lock").text == "600 0\n")
    let other = try t.shell(
      """
      rm b/.nightly-archive.lock b/photos-*; chmod 755 . b; env -i PATH=/usr/bin:/bin BATCHPROC="$BP" \
        sh '\(Self.folder)/nightly-archive.sh' srv/photos b; stat -c %a b/.nightly-archive.lock
      setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'flock -n b/.nightly-archive.lock true' 2>/dev/null && echo taken
      """)
    #expect(other.text == "600\n", "\(other.text)\(other.errorText)")
    for plant in ["ln -s ../victim", "ln -s ../gone", "mkfifo", "mkdir", "ln ../victim"] {
      let run = try night(
        prepare: """
          rm -rf b; mkdir b; printf keep >victim; chown 65534 victim; chmod 644 victim
          cd b; \(plant) .nightly-archive.lock; cd ..
          """)
      #expect(run.text.hasPrefix("5\nnightly-archive.sh: "), "\(plant): \(run.text)")
      #expect(run.text.contains(".nightly-archive.lock is not a file of this user"), "\(plant): \(run.text)")
      #expect(
        try t.shell("stat -c '%a %s' victim; ls gone b/photos-* 2>/dev/null").text == "644 4\n", "\(plant)")
    }
  }

  @Test("the line that deletes old archives keeps the newest, and runs after a good night only")
  func deletion() throws {
    let run = try t.shell(
      """
      line=$(sed -n "s,^#  *\\(&& cd /var/backups/photos\\),\\1,p" '\(Self.folder)/batchproc-archive.cron')
      [ -n "$line" ] || exit 1; line=${line//\\/var\\/backups\\/photos/$PWD\\/b}
      for day in $(seq 40); do : >b/photos-2001-$(date -d "2001-01-01 +$day days" +%m-%d).tar.zst; done
      touch -d 2001-01-01 b/*; : >b/other; : >b/photos-old.tar.zst
      for status in 1 3 5 11 0 0; do sh -c "(exit $status) $line"; ls b | wc -l; done; ls b | head -3
      """)
    #expect(
      run.text == "42\n42\n42\n42\n33\n33\nother\nphotos-2001-01-11.tar.zst\nphotos-2001-01-12.tar.zst\n",
      "\(run.text)\(run.errorText)")
  }

  @Test("the units are those that systemd takes")
  func units() throws {
    let run = try t.shell(
      """
      command -v systemd-analyze >/dev/null || exit 0
      for f in '\(Self.folder)'/*.service; do sed 's,^ExecStart=[^ ]*,ExecStart=/bin/true,' "$f" >"${f##*/}"; done
      cp '\(Self.folder)'/*.timer .; for f in *.timer *.service; do systemd-analyze verify $PWD/$f; done 2>&1 | grep -F "$PWD"
      """)
    #expect(run.text == "", "\(run.text)")
  }
}
