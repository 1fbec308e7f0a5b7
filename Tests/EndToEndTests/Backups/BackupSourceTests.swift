import BatchEngine
import TestSupport
import Testing

/// Sources that are links, that change their kind, that have mount points, or that contain the target.
@Suite(.timeLimit(.minutes(4))) struct BackupSourceTests {
  private let t: TreeFixture

  init() throws { t = try TreeFixture() }

  @Test(
    "a source that is a link is followed, and has the name of the link; links below it stay links",
    arguments: ["link", "link/", "link/.", "$PWD/link", "sub/../link"])
  func followed(source: String) throws {
    let run = try t.shell(
      """
      mkdir -p real/d sub; echo one >real/1; echo two >real/d/2; ln real/1 real/d/hard; ln -s d real/inner; ln -s real link
      for n in 1 2; do $BP backup -q --to set "\(source)"; echo $?; done
      m=$(ls set/*.manifest | tail -n 1); grep -o 'path":"[^"]*link[^"]*"' $m | sed "s,$PWD/,,; s,${PWD#/}/,," | sort -u | tr '\\n' ' '; echo
      $BP audit -q $m /; echo $?; echo new >real/d/new; $BP audit -q $m / | sed "s,${PWD#/}/,,; s, (.*,,"; $BP drill -q --all --against-live set; echo $?
      rm real/d/new; $BP restore -q -C out set; diff -r --no-dereference real out$PWD/link && echo same
      """)
    let rows = ["link", "link/1", "link/d", "link/d/2", "link/d/hard", "link/inner"].map {
      "path\":\"\($0)\""
    }
    #expect(
      run.text == "0\n0\n\(rows.joined(separator: " ")) \n0\nlink/d: METADATA\nlink/d/new: NEW\n0\nsame\n",
      "\(run.text)\(run.errorText)")
  }

  struct Former: Sendable, CustomTestStringConvertible {
    var before = "mkdir src; echo 1 >src/1; echo 2 >src/2"
    let now: String
    let says: String
    var testDescription: String { "\(before), then \(now)" }
  }

  @Test(
    "a source that had files and is something else now ends the run with 1, and nothing is removed",
    arguments: [
      Former(
        now: "rm -r src; mkdir empty; ln -s empty src", says: "is empty, and the snapshot before has 2 files"),
      Former(now: "rm -r src; ln -s nowhere src", says: "is a symbolic link that leads nowhere"),
      Former(now: "rm -r src; ln -s src src", says: "Too many levels"),
      Former(now: "rm -r src; echo >src", says: "is a regular file now"),
      Former(now: "rm -r src; echo >file; ln -s file src", says: "is a regular file now"),
      Former(now: "rm -r src; mkfifo src", says: "is a FIFO now"),
      Former(before: "mkdir src; echo 1 >src/1", now: "rm -r src; echo >src", says: "is a regular file now"),
      Former(before: "echo 1 >src", now: "rm src; mkdir src; echo 1 >src/1", says: "is a folder now"),
      Former(before: "echo 1 >src", now: "rm src; mkfifo src", says: "is a FIFO now"),
      Former(
        before: "mkdir real; echo 1 >real/1; ln -s real src", now: "rm -r real", says: "leads nowhere"),
    ])
  func former(_ former: Former) throws {
    let run = try t.shell(
      """
      \(former.before); $BP backup -q --to set src; echo $?; ls -A set >before; \(former.now)
      $BP backup -q --keep-last 1 --to set src; echo $?; ls -A set | diff before - && echo same
      """)
    #expect(run.text == "0\n1\nsame\n" && run.errorText.contains(former.says), "\(run.text)\(run.errorText)")
  }

  @Test("a source that is replaced by another of its kind, or by a link to one, is accepted")
  func replaced() throws {
    let run = try t.shell(
      """
      mkdir a; echo 1 >a/1; echo 1 >f; $BP backup -q --to set a f; echo $?
      mv a moved; ln -s moved a; rm f; echo 2 >f; $BP backup -q --to set a f; echo $?; rm a f; mv moved a; echo 2 >g; ln -s g f; $BP backup -q --to set a f; echo $?
      """)
    #expect(run.text == "0\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  struct Mount: Sendable, CustomTestStringConvertible {
    var before = "mount -o loop image src/m; echo data >src/m/d"
    let now: String
    var options = ""
    var status = 1
    var testDescription: String { "\(before), then \(now) \(options)" }
  }

  @Test(
    "a mount point below a source that had files and has none now ends the run with 1, and nothing is removed",
    .enabled(if: Host.canMountImages),
    arguments: [
      Mount(now: "umount src/m"), Mount(now: "umount src/m; rmdir src/m"),
      Mount(now: "umount src/m; rmdir src/m; echo >src/m"), Mount(now: "umount src/m", options: "--full"),
      Mount(now: "umount src/m; mkdir src/m/lost+found"),
      Mount(now: "umount src/m", options: "--allow-empty", status: 0),
      Mount(now: "umount src/m", options: "--exclude m", status: 0),
      Mount(now: "umount src/m", options: "--one-file-system", status: 0),
      Mount(now: "umount src/m; echo moved >src/m/d", status: 0), Mount(now: ":", status: 0),
      Mount(before: "mount -o loop image src/m", now: "umount src/m", status: 0),
      Mount(before: "mount -t tmpfs t src/m; echo data >src/m/d", now: "umount src/m", status: 0),
      Mount(
        before: "mount -t tmpfs t src/m; mkdir src/m/n; mount -o loop image src/m/n; echo >src/m/n/d",
        now: "umount src/m/n src/m"),
      Mount(
        before: "mv src real; ln -s real src; mount -o loop image src/m; echo >src/m/d", now: "umount src/m"),
    ])
  func mounts(_ mount: Mount) throws {
    let run = try t.shell(
      """
      cat >go <<'END'
      truncate -s 8M image; mkfs.ext4 -qF image; mkdir -p src/m; echo 1 >src/1
      \(mount.before); for n in 1 2; do $BP backup -q --to set src; echo $?; done; ls -A set >before; \(mount.now)
      $BP backup -q -n \(mount.options) --to set src >/dev/null; echo $?
      $BP backup -q \(mount.options) --keep-last 1 --to set src; echo $?; ls -A set | diff before - >/dev/null && echo same; true
      END
      unshare -m --propagation private bash go
      """)
    let ending = mount.status == 0 ? "0\n0\n" : "1\n1\nsame\n"
    #expect(run.text == "0\n0\n\(ending)", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("a file system was mounted here") == (mount.status == 1), "\(run.errorText)")
  }

  @Test("files of sets in the target below a source are not archived, which is said once, and all others are")
  func target() throws {
    let run = try t.shell(
      """
      mkdir -p src/bk; echo own >src/bk/own; echo hidden >src/bk/.other.lock; ln -s src/bk link
      for n in 1 2 3; do $BP backup -q --name a --copy-to src/copy --to link src; echo $?; $BP backup --name b --copy-to src/copy --to src/bk src 2>&1 | grep -c 'of sets in it'; done
      cat src/bk/*.manifest | grep -o '"type":"file","path":"[^"]*' | sed 's,.*/src/,,' | sort -u; $BP backup -n --name a --copy-to src/copy --to src/bk src | grep -c -e '-2'
      """)
    #expect(
      run.text == "0\n1\n0\n1\n0\n1\nbk/.other.lock\nbk/own\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "a target or directory of copies that is a source is refused, and no file is written",
    arguments: ["--to src", "--to link", "--to src/../src", "--to new new", "--to set --copy-to link"])
  func itself(options: String) throws {
    let run = try t.shell(
      "mkdir src; echo 1 >src/1; ln -s src link; $BP backup -q --init \(options) src; echo $?; find src new; $BP backup -q -n --init \(options) src; echo $?"
    )
    #expect(run.text == "1\nsrc\nsrc/1\n1\n", "\(run.text)\(run.errorText)")
  }
}
