import BatchEngine
import Foundation
import TestSupport
import Testing

/// Samples of drills, and drills without enough temporary space.
@Suite(.timeLimit(.minutes(4))) struct DrillTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell("mkdir src tmp")
  }

  private func drilled(_ script: String) throws -> Outcome {
    try t.shell("export TMPDIR=$PWD/tmp; \(script)")
  }

  @Test("a sample has its share of the bytes, and never consists of empty files only")
  func sample() throws {
    let run = try drilled(
      """
      for n in 1 2 3 4 5 6 7 8; do : >src/a$n; done; head -c 100000 /dev/urandom >src/b; head -c 100000 /dev/urandom >src/c
      $BP backup -q --to set src
      for n in 1 2 3; do $BP drill set 2>&1 | sed 's/.*: //; s/ in .*//'; done
      $BP drill --all set 2>&1 | sed 's/.*: //; s/ in .*//'; $BP drill --json set | grep -c '"snapshot_files":10,"snapshot_bytes":200000'
      """)
    #expect(
      run.text == """
        2 of 10 files, 97.7 KiB of 195.3 KiB
        2 of 10 files, 97.7 KiB of 195.3 KiB
        2 of 10 files, 97.7 KiB of 195.3 KiB
        10 files, 195.3 KiB
        1

        """, "\(run.text)\(run.errorText)")
  }

  @Test("twenty drills of 5 % cover all files, small and large") func coverage() throws {
    let run = try drilled(
      """
      for n in $(seq 40); do head -c $((n % 7 * 5000)) /dev/urandom >src/f$n; done; $BP backup -q --to set src
      for n in $(seq 20); do $BP drill --json -v set; done | grep -o 'src/f[0-9]*' | sort -u | wc -l
      """)
    #expect(run.text == "40\n", "\(run.text)\(run.errorText)")
  }

  @Test("a file that is too large for the temporary directory is not damaged, and its archive is not suspect")
  func tooLarge() throws {
    let run = try drilled(
      """
      head -c 300K /dev/urandom >src/big; ln src/big src/z; echo one >src/small; $BP backup -q --to set src
      (ulimit -f 100; $BP drill --all set); echo $?; grep -c suspect set/.backup.drill; ls -A tmp
      $BP drill -q --all set; echo $?
      """)
    #expect(run.text == "5\n0\n0\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("src/big: could not be drilled: ")
        && run.errorText.contains("src/z: could not be drilled")
        && run.errorText.contains("File too large") && run.errorText.contains("2 could not be drilled")
        && run.errorText.contains("set TMPDIR"), "\(run.errorText)")
  }

  @Test("a full temporary directory is not damage, and the next drill continues", .enabled(if: Host.canMount))
  func full() throws {
    let run = try drilled(
      """
      head -c 3M /dev/urandom >src/big; echo one >src/small; $BP backup -q --to set src
      unshare -m sh -c 'mount -t tmpfs -o size=1m none tmp; $BP drill --all set; echo $?; ls -A tmp'
      grep -c suspect set/.backup.drill; $BP drill -q --all set; echo $?
      """)
    #expect(run.text == "5\n0\n0\n", "\(run.text)\(run.errorText)")
    #expect(run.errorText.contains("2 files could not be drilled: "), "\(run.errorText)")
    // The summary comes in any case.
    #expect(run.errorText.contains("; 2 could not be drilled"), "\(run.errorText)")
  }

  @Test("an archive is suspect until its damaged files can be restored", .enabled(if: Host.hasPython))
  func suspect() throws {
    let run = try drilled(
      """
      \(Steps.functions)
      for n in $(seq 10); do head -c 10K /dev/urandom >src/f$n; done
      $BP backup -q --to set src
      $BP backup -q --full --to set src
      newest=$(ls set/*.tar.zst | tail -n 1)
      cp $newest keep
      id=$(echo $newest | grep -o '[0-9]*T[0-9]*Z')
      python3 -c 'import sys
      with open(sys.argv[1], "r+b") as file:
          file.seek(3000)
          byte = file.read(1)
          file.seek(3000)
          file.write(bytes([byte[0] ^ 1]))' $newest
      count() { grep -c "\\"suspect\\",\\"archive\\":\\"$id\\"" set/.backup.drill; }
      ends "drill of damage" $BP drill -q --all set >found
      ends "all damaged files are noted" test $(count) = $(grep -c DAMAGED found)
      $BP drill -q --all set >again
      ends "and noted once" test $(count) = $(grep -c DAMAGED found)
      cp keep $newest
      ends "drill of a sample of the repaired archive" $BP drill -q --sample 1% --at ${id} set
      ends "drill of all of it" $BP drill -q --all set
      count | says "suspect files after it"
      echo "{\\"type\\":\\"suspect\\",\\"archive\\":\\"$id\\"}" >>set/.backup.drill
      $BP drill -q --sample 50% set
      count | says "suspect archives after a half"
      $BP drill -q --all set
      count | says "suspect archives after all"
      """)
    run.expectSteps([
      "drill of damage": "4", "all damaged files are noted": "0", "and noted once": "0",
      "drill of a sample of the repaired archive": "0", "drill of all of it": "0",
      "suspect files after it": "0", "suspect archives after a half": "1", "suspect archives after all": "0",
    ])
  }

  @Test(
    "owners and the bits setuid and setgid are not compared, since not every user may restore them",
    .enabled(if: Host.canChangeUser && Host.canPreload))
  func owners() throws {
    try t.preload(
      """
      #include <errno.h>
      #include <sys/stat.h>
      int fchmod(int file, mode_t mode) {
        static int (*real)(int, mode_t);
        if (!real) real = dlsym(RTLD_NEXT, "fchmod");
        if (mode & 06000) { errno = EPERM; return -1; }
        return real(file, mode);
      }
      """)
    let run = try drilled(
      """
      echo one >src/a; echo two >src/b; chown 1234:1234 src/*; chmod 6755 src/b; chmod -R a+rwX .; $BP backup -q --to set src; chmod -R a+rwX set
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP drill -q --all set; echo $?; grep -c suspect set/.backup.drill
      export LD_PRELOAD=$PWD/preload.so
      setpriv --bounding-set=-all,+dac_read_search,+dac_override --inh-caps=-all --no-new-privs $BP drill -q --all set; echo $?
      $BP drill -q --all --against-live set; echo $?; chmod 700 src/a; $BP restore -q -C out set; stat -c '%u %g %a' out$PWD/src/a
      """)
    #expect(run.text == "0\n0\n0\n0\n1234 1234 666\n", "\(run.text)\(run.errorText)")
  }

  @Test("a restored file that its owner may not read is not drilled", .enabled(if: Host.canChangeUser))
  func unreadable() throws {
    let run = try drilled(
      """
      echo one >src/a; echo two >src/b; chmod 040 src/b; $BP backup -q --to set src; chmod -R a+rwX set tmp; chmod a+rx .
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP drill --all set 2>&1 | sed 's/.*src\\/b: //; s/.*Z: //; s/ in .*;/;/'
      echo ${PIPESTATUS[0]}; stamp=$(basename set/*.manifest.zst .manifest.zst | cut -c8-)
      echo '{"type":"suspect","archive":"'$stamp'"}' >>set/.backup.drill
      setpriv --reuid=65534 --regid=65534 --clear-groups $BP drill -q --sample 100% set 2>/dev/null; grep -c suspect set/.backup.drill
      $BP drill -q --all set; echo $?; grep -c suspect set/.backup.drill
      """)
    #expect(
      run.text == """
        cannot open: Permission denied
        2 files, 8 B; 1 could not be drilled
        5
        1
        0
        0

        """, "\(run.text)\(run.errorText)")
  }

  @Test("results of drills that cannot be read stop the next drill and prune, and the report names them")
  func unreadableState() throws {
    let run = try drilled(
      """
      \(Steps.functions)
      echo one >src/a
      for n in 1 2; do $BP backup -q --full --to set src; done
      echo '{"type":' >set/.backup.drill
      ends prune $BP prune -q --keep-last 1 set
      ends drill $BP drill -q set
      ends report $BP report set >page
      says "results of drills" <set/.backup.drill
      ls set/*.manifest.zst | wc -l | says snapshots
      rm set/.backup.drill
      ends "prune without them" $BP prune -q --keep-last 1 set
      """)
    run.expectSteps([
      "prune": "1", "drill": "1", "report": "4", "results of drills": "{\"type\":", "snapshots": "2",
      "prune without them": "0",
    ])
    #expect(
      run.errorText.split(separator: "\n").filter {
        $0.contains("set/.backup.drill: the results of drills cannot be read")
      }.count == 3, "\(run.errorText)")
  }

  @Test(
    "folders that are deeper than the limit of descriptors are removed after a drill",
    .enabled(if: Host.hasPython),
    arguments: [64, 1024])
  func deep(_ limit: Int) throws {
    try t.shell(
      """
      python3 -c 'import os, sys
      os.chdir("src")
      for n in range(int(sys.argv[1])):
        open("f", "w").write(str(n)); os.mkdir("d"); os.chdir("d")' \(limit)
      """)
    let run = try drilled(
      "$BP backup -q --to set src; (ulimit -n \(limit); $BP drill -q --all set); echo $?; ls -A tmp | wc -l")
    #expect(run.text == "0\n0\n", "\(run.text)\(run.errorText)")
  }

  @Test("a temporary file that cannot be removed is reported", .enabled(if: Host.canPreload)) func stays()
    throws
  {
    try t.preload(
      """
      #include <errno.h>
      #include <string.h>
      int unlinkat(int folder, const char *name, int flags) {
        static int (*real)(int, const char *, int);
        if (!real) real = dlsym(RTLD_NEXT, "unlinkat");
        if (!strcmp(name, "stays")) { errno = EBUSY; return -1; }
        return real(folder, name, flags);
      }
      """)
    let run = try drilled(
      """
      mkdir -p src/a/b; echo one >src/a/b/stays; echo two >src/a/other; $BP backup -q --to set src
      LD_PRELOAD=$PWD/preload.so $BP drill -q --all set; echo $?; find tmp -type f | wc -l
      $BP drill -q --all set; echo $?; ls -A tmp
      """)
    #expect(run.text == "5\n1\n0\n", "\(run.text)\(run.errorText)")
    #expect(
      run.errorText.contains("cannot remove all of the temporary folder: Device or resource busy"),
      "\(run.errorText)")
  }

  @Test(
    "times that the file system of TMPDIR cannot store are no damage, and are named once",
    .enabled(if: Host.canMountImages), arguments: [256, 128])
  func timesOutOfRange(inode: Int) throws {
    let run = try drilled(
      """
      cat >go <<'END'
      \(Steps.functions)
      truncate -s 16M image
      mkfs.ext4 -qF -I \(inode) image >/dev/null 2>&1
      mount -o loop image tmp
      for n in 1 2 3 4; do echo $n >src/f$n; done
      touch -d 9999-01-01 src/f1
      touch -d 1601-01-01 src/f2
      ln -s f1 src/link
      touch -h -d 9999-01-01 src/link
      $BP backup -q --to set src
      ends drill $BP drill --all set 2>err
      counts "lines about limits" 'cannot store some times' <err
      counts summary '4 files, 8 B.*; 1 link or FIFO too' <err
      counts "suspect archives" suspect <set/.backup.drill
      ends restore $BP restore -q -C tmp set 2>err
      counts "files whose time is not stored" 'the file system cannot store its time' <err
      END
      unshare -m --propagation private bash go
      """)
    run.expectSteps([
      "drill": "0", "lines about limits": "1", "summary": "1", "suspect archives": "0", "restore": "3",
      "files whose time is not stored": "3",
    ])
  }

  @Test("a drill of all compares links and FIFOs too", .enabled(if: Host.hasPython))
  func links() throws {
    let run = try drilled(
      """
      \(Steps.functions)
      echo 1 >src/f
      ln -s target src/link
      ln -s other src/second
      mkfifo src/fifo
      $BP backup -q --to set src
      ends drill $BP drill -q --all set
      $BP drill --all set 2>&1 | counts "what was drilled" '1 file, .*; 3 links and FIFOs too'
      # The manifest has another target than the archive, and a FIFO that the archive does not have.
      plain set/*.manifest.zst
      python3 - <<'END'
      import glob, hashlib, json
      name = glob.glob('set/*.manifest.zst')[0]
      rows, end = open(name).read().rstrip().rsplit(chr(10), 1)
      rows = rows.replace('"target":"target"', '"target":"garbled"').replace('src/fifo"', 'src/fife"')
      end = json.loads(end)
      end['footer'] = rows.index('{"type":"total"')
      end['manifest_sha256'] = hashlib.sha256((rows + chr(10)).encode()).hexdigest()
      open(name, 'w').write(rows + chr(10) + json.dumps(end, separators=(',', ':')) + chr(10))
      END
      ends "drill of other links" $BP drill -q --all set >found 2>/dev/null
      sed 's,^.*/src/,,; s/ (.*//' found | sort | says "found"
      ends "drill of files" $BP drill -q --sample 99% set
      """)
    run.expectSteps([
      "drill": "0", "what was drilled": "1", "drill of other links": "4",
      "found": "fife: DAMAGED link: METADATA", "drill of files": "0",
    ])
  }
}
