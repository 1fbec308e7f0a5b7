import BatchEngine
import Foundation
import Glibc
import TestSupport
import Testing

/// `backup`, `snapshots`, `restore` and `prune`, compared with stock tools.
@Suite(.timeLimit(.minutes(4))) struct BackupTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      "mkdir -p src/a/b src/z; echo one >src/a/1; echo two >src/a/b/2; ln src/a/1 src/z/hard; ln -s ../a src/z/sym"
    )
  }

  private func backup(_ more: PathBytes..., day: Int = 0) throws -> Outcome {
    try t.batchproc(["backup", "-q", "--no-fsync", "--to", "set"] + more + ["src"], environment: later(day))
  }

  /// Environment variables that set the program's clock to a later day; none when preloading is impossible.
  private func later(_ day: Int) throws -> [String: String] {
    guard day > 0, Host.canPreload else { return [:] }
    if !t.exists("preload.so") { try t.preloadClock() }
    return ["LD_PRELOAD": "\(t.path("preload.so"))", "SHIFT": "\(day * 86_400)"]
  }

  @Test(
    "a file from the last second before 1970 is unchanged at the next backup", .enabled(if: Host.canPreload))
  func lastSecond() throws {
    try t.shell("touch -d '1969-12-31 23:59:59.5 UTC' src/a/b/2")
    #expect(try backup(day: 1).status == 0)
    #expect(try backup(day: 2).status == 0)
    let run = try t.shell(
      """
      for f in set/*.tar.zst; do tar --zstd -tf $f | grep -c b/2; done; for f in set/*.manifest.zst; do zstdcat $f | grep -c '"mtime":"-0.500000000"'; done
      $BP drill -q --all set; echo $?; $BP audit -q $(ls set/*.manifest.zst | tail -1) /; echo $?
      """)
    #expect(run.text == "1\n0\n1\n1\n0\n0\n", "\(run.text)\(run.errorText)")
  }

  private func expectRestored(_ place: String = "", _ folder: String = "out") throws {
    let run = try t.shell(
      "$BP restore -q --no-fsync \(place) -C \(folder) set && diff -r --no-dereference src \(folder)$PWD/src; echo $?"
    )
    #expect(run.text == "0\n", "\(run.text)\(run.errorText)")
  }

  @Test(
    "stock tar restores a full snapshot and an increment as the document describes",
    .enabled(if: Host.canPreload))
  func byHand() throws {
    #expect(try backup(day: 1).status == 0)
    try t.shell("echo three >src/a/3; rm src/a/b/2; echo more >>src/a/1; mv src/z/sym src/z/link")
    #expect(try backup(day: 2).status == 0)
    try expectRestored()
    let run = try t.shell(
      """
      id=$(ls set/*.manifest.zst | tail -n 1 | grep -o '[0-9]*T[0-9]*Z')
      '\(Repository.restoreByHand)' set $id hand
      diff -r --no-dereference src hand$PWD/src && [ hand$PWD/src/a/1 -ef hand$PWD/src/z/hard ]; echo $?
      $BP snapshots --digests set | (cd hand && sha256sum --check --quiet -); echo $?
      ls -1 set | wc -l; stat -c %a set/backup-* | sort -u
      """)
    #expect(run.text == "0\n0\n6\n600\n", "\(run.text)\(run.errorText)")
  }

  @Test("unchanged files are not opened", .enabled(if: Host.canTrace && Host.canPreload))
  func unopened() throws {
    #expect(try backup(day: 1).status == 0)
    let run = try t.shell(
      """
      \(Steps.functions)
      ends backup strace -qq -f --seccomp-bpf -o trace -e trace=openat,openat2 \\
        -E LD_PRELOAD=$PWD/preload.so -E SHIFT=172800 $BP backup -q --to set src
      grep -E '"(1|2|hard)"' trace | says "opened files"
      tar --zstd -tf $(ls set/*.tar.zst | tail -n 1) | says "archived files"
      """)
    run.expectSteps(["backup": "0", "opened files": "", "archived files": ""])
    try expectRestored()
  }

  @Test(
    "--checksum reads all files, and keeps the rows of those that have their content, with all names",
    .enabled(if: Host.canPreload))
  func checksum() throws {
    #expect(try backup(day: 1).status == 0)
    let run = try backup("--checksum", "--json", day: 2)
    #expect(run.status == 0 && run.text.contains("\"references\":0"), "\(run.text)\(run.errorText)")
    try expectRestored()
    let rows = try t.shell(
      "for m in set/*.manifest.zst; do zstdcat $m | grep -c '\"path\"'; done | uniq | wc -l")
    #expect(rows.text == "1\n", "\(rows.text)")
  }

  @Test(
    "--checksum reads large files with all lanes, and with --accept-rot archives only those that differ",
    .enabled(if: Host.canMountImages && Host.hasPython && Host.canPreload), arguments: [1, 2, 7, 32])
  func checksumOfLargeFiles(jobs: Int) throws {
    try t.preloadClock()
    // The device changes the bytes of a file without its status.
    let run = try t.shell(
      """
      cat >change.py <<'EOF'
      data = open("image", "rb").read(); place = data.find(b"needle"); assert place > 0
      with open("image", "r+b") as f: f.seek(place); f.write(b"N")
      EOF
      truncate -s 96M image; mkfs.ext4 -qF image; mkdir m
      unshare -m sh -c 'mount -o loop image m; for i in 1 2 3; do head -c 17M /dev/zero | tr "\\0" $i >m/large$i; done
        printf needle | dd of=m/large2 bs=1 seek=15000000 conv=notrunc status=none; sync -f m
        export LD_PRELOAD=$PWD/preload.so SHIFT=172800
        $BP backup -q -j \(jobs) --to set m; echo $?; umount m
        python3 change.py; mount -o loop image m
        $BP backup -q --json --checksum --accept-rot -j \(jobs) --to set m | tail -n 1 >json; echo $?
        tar --zstd -tf $(ls set/*.tar.zst | tail -n 1) | grep -o "large.*"
        $BP restore -q -C back set; echo $?; find back -name large2 | xargs cmp m/large2 && echo same'
      grep -oE '"bytes":[0-9]+' json
      """)
    let bytes = run.text.split(separator: ":").last.flatMap { Int($0.dropLast()) } ?? 0
    #expect(run.text.hasPrefix("0\n0\nlarge2\n0\nsame\n"), "\(run.text)\(run.errorText)")
    #expect(bytes >= 51 << 20, "\(run.text)")
  }

  @Test(
    "TERM ends --checksum in the middle of a large file", .enabled(if: Host.canPreload), arguments: [1, 7])
  func interruptedChecksum(jobs: Int) throws {
    try t.shell("head -c 64M /dev/zero | tr '\\0' a >src/large")
    #expect(try backup(day: 1).status == 0)
    let run = try t.shell(
      """
      ls set | sort >before; export SHIFT=172800
      LD_PRELOAD=$PWD/preload.so $BP backup -q --checksum -j \(jobs) --rate 2M --to set src & p=$!
      until [ -n "$(ls -l /proc/$p/fd 2>/dev/null | grep src/large)" ]; do sleep 0.02; kill -0 $p || break; done
      kill -TERM $p; wait $p; echo $?; ls set | sort | cmp - before && echo same
      """)
    #expect(run.text == "143\nsame\n", "\(run.text)\(run.errorText)")
  }

  @Test("only the first snapshot is full, or every n-th with --full-every n")
  func fullEvery() throws {
    for _ in 0..<5 { #expect(try backup("--full-every", "2").status == 0) }
    #expect(try backup("--full").status == 0)
    let rows = try t.shell("$BP snapshots set | awk '{print $4}'").text
    #expect(rows == "full\n+1\nfull\n+1\nfull\nfull\n")
  }

  @Test("a missing archive is named, and the next snapshot is a full one")
  func missingArchive() throws {
    #expect(try backup().status == 0)
    try t.shell("rm set/*.tar.zst")
    let run = try t.shell("$BP snapshots set; echo $?")
    #expect(run.text.hasSuffix("\n4\n") && run.errorText.contains("is missing or has"))
    let next = try t.batchproc("backup", "--to", "set", "src")
    #expect(next.status == 0 && next.errorText.contains("so this snapshot is full"), "\(next.errorText)")
    try expectRestored()
    #expect(try t.batchproc("restore", "-C", "old", "--at", "2000-01-01", "set").status == 1)
  }

  @Test("a missing or empty source, or one on another file system, ends with 1 and without a snapshot")
  func sources() throws {
    #expect(try backup().status == 0)
    try t.shell("mv src away; mkdir src")
    let empty = try backup("--keep-last", "1")
    #expect(empty.status == 1 && empty.errorText.contains("the source is empty"), "\(empty.errorText)")
    try t.shell("mkdir src/lost+found")
    #expect(try backup().status == 1)
    try t.shell("rmdir src/lost+found src")
    #expect(try backup().status == 1)
    #expect(t.names(in: "set").count == 6)
    try t.shell("mkdir src")
    #expect(try backup("--allow-empty").status == 0)
    #expect(try t.shell("$BP snapshots set | wc -l").text == "2\n")
    try t.shell("rmdir src; mv away src")
    try expectRestored("--at $(ls set | head -n 1 | tr -dc '0-9TZ' | head -c 16)")
  }

  @Test(
    "a second run of the set ends with 11; backups can run beside readers, and prune cannot",
    .enabled(if: Host.hasPython))
  func locks() throws {
    #expect(try backup().status == 0)
    #expect(try backup().status == 0)
    let run = try t.shell(
      """
      cat >hold.py <<'END'
      import fcntl, os, struct, subprocess, sys
      number = os.open('set/.backup.lock', os.O_RDWR)
      kind = fcntl.F_RDLCK if sys.argv[2] == 'r' else fcntl.F_WRLCK
      fcntl.fcntl(number, 37, struct.pack('hhqqi4x', kind, 0, int(sys.argv[1]), 1, 0))
      sys.exit(subprocess.call(sys.argv[3:]))
      END
      hold() { python3 hold.py "$@" 2>&1; echo $?; }
      hold 0 w $BP backup -q --to set src
      hold 0 w $BP prune -q --keep-last 1 set
      hold 0 w $BP restore -q -C o1 set
      hold 1 r $BP backup -q --to set src
      hold 1 r $BP restore -q -C o2 set
      hold 1 r $BP prune -q --keep-last 1 set
      hold 1 w $BP restore -q -C o3 set
      """)
    let codes = run.text.split(separator: "\n").filter { $0.count <= 2 }.map(String.init)
    #expect(codes == ["11", "11", "0", "0", "0", "11", "11"], "\(run.text)\(run.errorText)")
    #expect(try t.shell("$BP snapshots set | wc -l").text == "3\n")
  }

  @Test(
    "prune keeps the chosen snapshots, the archives that they need, and the newest verified snapshot",
    .enabled(if: Host.canPreload))
  func prune() throws {
    for number in 0..<5 {
      try t.shell("echo \(number) >src/n\(number)")
      #expect(try backup("--full-every", "3", day: number + 1).status == 0)
    }
    let dry = try t.shell(
      "cp -r set before; $BP prune -n --keep-last 1 set 2>&1; diff -r set before && echo same",
      environment: later(6))
    #expect(dry.text.contains("keep    last, newest verified") && dry.text.hasSuffix("same\n"), "\(dry.text)")
    #expect(dry.text.contains("would remove 4 snapshots and 3 archives; 1 snapshot stay"), "\(dry.text)")
    #expect(try t.batchproc(["prune", "-q", "--keep-last", "1", "set"], environment: later(6)).status == 0)
    #expect(try t.shell("ls set/*.tar.zst | wc -l; ls set/*.manifest.zst | wc -l").text == "2\n1\n")
    try expectRestored()
    // The old full archive is removed with the last snapshot that needs it.
    #expect(try backup("--full", "--keep-last", "1", day: 6).status == 0)
    #expect(try t.shell("ls set/*.tar.zst | wc -l; ls set/*.manifest.zst | wc -l").text == "1\n1\n")
    #expect(try t.batchproc("prune", "set").status == 64)
    // A snapshot that was not verified does not count as one.
    #expect(try backup("--no-verify", day: 7).status == 0)
    #expect(try backup("--no-verify", "--keep-last", "1", day: 8).status == 0)
    #expect(try t.shell("$BP snapshots set | wc -l").text == "2\n")
  }

  @Test("an invalid manifest prevents all removals, and the next snapshot is full")
  func damagedManifest() throws {
    #expect(try backup().status == 0)
    try t.shell(
      "\(Steps.plain)\nplain set/*.manifest.zst; sed -i 's/\"mode\":420/\"mode\":421/' set/*.manifest.zst")
    let next = try t.batchproc("backup", "--to", "set", "src")
    #expect(
      next.status == 0 && next.errorText.contains("its digest is not the recorded one"), "\(next.errorText)")
    #expect(try t.shell("$BP snapshots set | awk '{print $4}'").text == "full\nfull\n")
    try t.shell("truncate -s -5 $(ls set/*.manifest.zst | head -n 1)")
    #expect(try t.batchproc("prune", "-q", "--keep-last", "1", "set").status == 1)
    #expect(try t.shell("$BP snapshots set >/dev/null; echo $?; ls set/*.zst | wc -l").text == "4\n4\n")
  }

  @Test(
    "a backup works under cron: without locale and terminal, and with any umask", arguments: ["077", "000"])
  func cron(umask: String) throws {
    let run = try t.shell(
      """
      printf x >$'src/na\\xc3\\xafve'; printf y >$'src/b\\xffd'
      for n in 1 2; do
        (umask \(umask); env -i PATH=/usr/bin:/bin XDG_STATE_HOME=$PWD/state setsid -w $BP backup -q --to set src </dev/null)
        echo $?
      done
      stat -c %a set/backup-* set/.backup.lock | sort -u
      """)
    #expect(run.text == "0\n0\n600\n" && run.errorText == "", "\(run.text)\(run.errorText)")
    try expectRestored()
  }

  @Test(
    "a file that cannot be read has no line, is named, and ends the run with 3",
    .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      chmod -R a+rwX .
      chmod 0 src/a/b/2
      ends backup setpriv --reuid=65534 --regid=65534 --clear-groups $BP backup -q --to set src
      zstdcat set/*.manifest.zst | counts "lines of the file" b/2
      $BP snapshots set | wc -l | says snapshots
      """)
    run.expectSteps(["backup": "3", "lines of the file": "0", "snapshots": "1"])
    #expect(run.errorText.contains("src/a/b/2"), "\(run.errorText)")
  }

  @Test(
    "a full or read-only target ends with 5, and earlier snapshots are unchanged",
    .enabled(if: Host.canMount))
  func target() throws {
    let run = try t.shell(
      """
      unshare -m bash -c '
      mkdir set; mount -t tmpfs -o size=2m none set; $BP backup -q --to set src; echo $?; ls -A set >1; head -c 9M /dev/urandom >src/big
      $BP backup -q --to set src; echo $?; ls -A set | diff 1 - && echo same
      mount -o remount,ro set; $BP backup -q --to set src; echo $?; ls -A set | diff 1 - && echo same; rm src/big
      $BP restore -q -C out set; echo $?; diff -r --no-dereference src out$PWD/src && echo restored'
      """)
    #expect(run.text == "0\n5\nsame\n5\nsame\n0\nrestored\n", "\(run.text)\(run.errorText)")
  }

  @Test("patterns choose the files to restore, and a pattern without a match is named")
  func globs() throws {
    #expect(try backup().status == 0)
    let run = try t.shell(
      "$BP restore -q -C out set '*.none' '**/a/b'; echo $?; find out -type f | wc -l; cat out$PWD/src/a/b/2")
    #expect(
      run.text == "3\n1\ntwo\n" && run.errorText.contains("nothing in the snapshot matches"),
      "\(run.text)\(run.errorText)")
  }

  @Test("a clock that was set back does not change the order of snapshots", .enabled(if: Host.canPreload))
  func clock() throws {
    #expect(try backup(day: 5).status == 0)
    try t.shell("echo new >src/new; rm src/a/1")
    #expect(try backup(day: 2).status == 0)
    // A snapshot whose second is taken gets the next second as its id.
    #expect(try backup(day: 2).status == 0)
    try expectRestored()
    let run = try t.shell(
      """
      \(Steps.functions)
      sequences() { $BP snapshots --json set | grep -o '"sequence":[0-9]*' | cut -d: -f2; }
      sequences | says "before prune"
      $BP prune -q --keep-last 1 set
      sequences | says "after prune"
      """, environment: later(6))
    run.expectSteps(["before prune": "1 2 3", "after prune": "3"])
    try expectRestored("", "again")
  }

  @Test(
    "a signal ends the run by that signal, and leaves no temporary file",
    arguments: [(SIGINT, SIGINT), (SIGTERM, SIGTERM), (SIGHUP, SIGTERM)])
  func signals(_ numbers: (sent: Int32, seen: Int32)) throws {
    #expect(try backup().status == 0)
    let before = t.names(in: "set")
    // At this level files from 32 MiB on are archived in blocks.
    try t.shell("seq 4500000 >src/huge")
    let run = try t.start(["backup", "-q", "-l", "15", "--to", "set", "src"])
    try #require(eventually { t.names(in: "set").count > before.count && run.handlesSignals })
    run.signal(numbers.sent)
    #expect(run.wait().ending == .signal(numbers.seen))
    // What was done may be an incomplete snapshot.
    let added = Set(t.names(in: "set")).subtracting(before)
    #expect(added.allSatisfy { $0.bytes.starts(with: "backup-2".utf8) }, "\(added)")
    #expect(t.content("set/.backup.lock")?.allSatisfy { $0 == 0 } == true)
    #expect(try t.shell("$BP drill -q --all set").status == 0)
  }

  @Test("after a kill at a random moment, the next run leaves a valid set without remains")
  func killed() throws {
    try t.shell("seq 300000 >src/a/big; head -c 3M /dev/urandom >src/z/noise")
    #expect(try backup().status == 0)
    let turns = Campaign.cases(100)
    for turn in 0..<turns {
      try t.shell("echo \(turn) >>src/a/1; touch src/z/noise")
      let isPrune = turn % 4 == 3
      let run = try t.start(
        isPrune
          ? ["prune", "-q", "--keep-last", "2", "set"]
          : ["backup", "-q", "--to", "set", "--full-every", "3", "--keep-last", "3", "src"])
      usleep(UInt32(turn * turn * 200_000 / (turns * turns)))
      run.signal(SIGKILL)
      _ = run.wait()
      let check = try t.shell("$BP snapshots -q set >/dev/null; echo $?")
      #expect(check.text == "0\n", "turn \(turn): \(check.errorText)")
    }
    let next = try backup("--full-every", "3", "--keep-last", "2")
    #expect(next.status == 0, "\(next.errorText)")
    try expectRestored()
    let run = try t.shell(
      """
      cd set
      ls -A | grep batchproc
      tr -d '\\0' <.backup.lock
      $BP snapshots --json . | grep -o '"archives":"[^"]*"' | grep -o '[0-9]*T[0-9]*Z' | sort -u >../needed
      ls *.tar.zst | grep -o '[0-9]*T[0-9]*Z' | diff - ../needed
      for f in *.tar.zst; do $BP verify -q $f || echo "verify of $f"; done
      """)
    #expect(run.text == "", "\(run.text)\(run.errorText)")
  }
}
