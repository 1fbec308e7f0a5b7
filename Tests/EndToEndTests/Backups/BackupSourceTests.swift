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
      \(Steps.functions)
      mkdir -p real/d sub
      echo one >real/1
      echo two >real/d/2
      ln real/1 real/d/hard
      ln -s d real/inner
      ln -s real link
      for n in 1 2; do ends "backup $n" $BP backup -q --to set "\(source)"; done
      m=$(ls set/*.manifest.zst | tail -n 1)
      zstdcat $m | grep -o 'path":"[^"]*link[^"]*"' | sed "s,$PWD/,,; s,${PWD#/}/,,; s,path\\":,," | sort -u | says paths
      ends audit $BP audit -q $m /
      echo new >real/d/new
      $BP audit -q $m / | sed "s,${PWD#/}/,,; s, (.*,," | says "audit after a change"
      ends drill $BP drill -q --all --against-live set
      rm real/d/new
      $BP restore -q -C out set
      ends restore diff -r --no-dereference real out$PWD/link
      """)
    run.expectSteps([
      "backup 1": "0", "backup 2": "0",
      "paths": #""link" "link/1" "link/d" "link/d/2" "link/d/hard" "link/inner""#,
      "audit": "0", "audit after a change": "link/d: METADATA link/d/new: NEW", "drill": "0", "restore": "0",
    ])
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
      \(Steps.functions)
      mkdir a
      echo 1 >a/1
      echo 1 >f
      ends "first backup" $BP backup -q --to set a f
      mv a moved
      ln -s moved a
      rm f
      echo 2 >f
      ends "a link to the folder, and another file" $BP backup -q --to set a f
      rm a f
      mv moved a
      echo 2 >g
      ln -s g f
      ends "the folder, and a link to a file" $BP backup -q --to set a f
      """)
    run.expectSteps([
      "first backup": "0", "a link to the folder, and another file": "0",
      "the folder, and a link to a file": "0",
    ])
  }

  @Test("a source on a different file system than before is refused", .enabled(if: Host.canMount))
  func otherFileSystem() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir src src/d
      echo 1 >src/1
      echo 2 >src/d/2
      ends "first backup" $BP backup -q --to set src
      cp -a src keep
      mounted() { unshare -m sh -c 'mount -t tmpfs none src && cp -a keep/. src/ && exec "$@"' sh "$@"; }
      ends "without the option" mounted $BP backup -q --to set src
      ends "--allow-empty" mounted $BP backup -q --to set --allow-empty src
      ends "--allow-other-file-system" mounted $BP backup -q --to set --allow-other-file-system src
      ends "empty" unshare -m sh -c 'mount -t tmpfs none src && exec "$@"' sh \
        $BP backup -q --to set --allow-other-file-system src
      """)
    run.expectSteps([
      "first backup": "0", "without the option": "1", "--allow-empty": "1", "--allow-other-file-system": "0",
      "empty": "1",
    ])
    #expect(
      run.errorText.contains("another file system than when the snapshot before was made, and has none"))
    #expect(run.errorText.contains("give --allow-other-file-system this once"), "\(run.errorText)")
  }

  @Test(
    "a file system is the same with another device number and in another snapshot: by its UUID, or by files that stayed",
    arguments: [Host.SharingFileSystem.btrfs, .xfs], [true, false])
  func sameFileSystem(_ kind: Host.SharingFileSystem, hasUUID: Bool) throws {
    guard kind.canBeMounted else { return }
    let moving =
      switch kind {
      case .btrfs: "btrfs -q subvolume snapshot disk/tree disk/later; mount --bind disk/later src"
      case .xfs: "mount -o loop,nouuid copy further; mount --bind further/tree src"
      }
    let run = try t.shell(
      """
      cat >edit.py <<'END'
      import glob, hashlib, json, re
      name = glob.glob('set/*.manifest.zst')[0]
      rows, end = re.sub(',"file_system_uuid":"[0-9a-f]{32}"', '', open(name).read()).rstrip().rsplit(chr(10), 1)
      end = json.loads(end)
      end['footer'] = rows.index('{"type":"total"')
      end['manifest_sha256'] = hashlib.sha256((rows + chr(10)).encode()).hexdigest()
      open(name, 'w').write(rows + chr(10) + json.dumps(end, separators=(',', ':')) + chr(10))
      END
      cat >go <<'END'
      \(Steps.functions)
      truncate -s 400M image
      \(kind.make) image >/dev/null
      mkdir disk further src
      mount -o loop image disk
      \(kind == .btrfs ? "btrfs -q subvolume create" : "mkdir") disk/tree
      mkdir disk/tree/d
      echo 1 >disk/tree/1
      echo 2 >disk/tree/d/2
      mount --bind disk/tree src
      ends "first backup" $BP backup -q --to set src
      \(hasUUID ? "rm -r src/1 src/d" : "plain set/*.manifest.zst; python3 edit.py")
      echo 3 >src/3
      umount src
      sync -f disk
      cp --sparse=always image copy
      \(moving)
      ends "next backup" $BP backup -q --to set src
      $BP snapshots set | grep -c ' +1 ' | says increments
      umount src
      echo 4 >src/4
      ends "nothing mounted" $BP backup -q --to set src
      END
      unshare -m --propagation private bash go
      """)
    run.expectSteps(["first backup": "0", "next backup": "0", "increments": "1", "nothing mounted": "1"])
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
      \(Steps.functions)
      truncate -s 8M image
      mkfs.ext4 -qF image
      mkdir -p src/m
      echo 1 >src/1
      \(mount.before)
      for n in 1 2; do ends "backup $n" $BP backup -q --to set src; done
      ls -A set >before
      \(mount.now)
      ends "dry run" $BP backup -q -n \(mount.options) --to set src >/dev/null
      ends "next backup" $BP backup -q \(mount.options) --keep-last 1 --to set src
      ls -A set | ends "files of the set" cmp -s before -
      END
      unshare -m --propagation private bash go
      """)
    let isRefused = mount.status == 1
    run.expectSteps([
      "backup 1": "0", "backup 2": "0", "dry run": "\(mount.status)", "next backup": "\(mount.status)",
      "files of the set": isRefused ? "0" : "1",
    ])
    #expect(
      run.errorText.contains("a file system was mounted here") == isRefused, "\(run.errorText)")
  }

  @Test("files of sets in the target below a source are not archived, which is said once, and all others are")
  func target() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir -p src/bk
      echo own >src/bk/own
      echo hidden >src/bk/.other.lock
      ln -s src/bk link
      for n in 1 2 3; do
        ends "backup $n" $BP backup -q --name a --copy-to src/copy --to link src
        $BP backup --name b --copy-to src/copy --to src/bk src 2>&1 | counts "said by backup $n" 'of sets in it'
      done
      zstdcat src/bk/*.manifest.zst | grep -o '"type":"file","path":"[^"]*' | sed 's,.*/src/,,' | sort -u | says files
      $BP backup -n --name a --copy-to src/copy --to src/bk src | counts "files of sets in a dry run" '-20[0-9]*T[0-9]*Z[.]'
      """)
    run.expectSteps([
      "backup 1": "0", "said by backup 1": "1", "backup 2": "0", "said by backup 2": "1", "backup 3": "0",
      "said by backup 3": "1", "files": "bk/.other.lock bk/own", "files of sets in a dry run": "0",
    ])
  }

  @Test(
    "a target or directory of copies that is a source is refused, and no file is written",
    arguments: ["--to src", "--to link", "--to src/../src", "--to new new", "--to set --copy-to link"])
  func itself(options: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      mkdir src
      echo 1 >src/1
      ln -s src link
      ends backup $BP backup -q --init \(options) src
      find src new | says files
      ends "dry run" $BP backup -q -n --init \(options) src
      """)
    run.expectSteps(["backup": "1", "files": "src src/1", "dry run": "1"])
  }
}
