import BatchEngine
import Foundation
import TestSupport
import Testing

/// Restores into a folder that has files, and restores by time.
@Suite(.timeLimit(.minutes(4))) struct RestoreAgainTests {
  private let t: TreeFixture

  init() throws {
    t = try TreeFixture()
    try t.shell(
      """
      mkdir -p src/a/b
      for n in $(seq 40); do echo $n >src/a/f$n; done
      head -c 3M /dev/urandom >src/big
      : >src/empty
      ln src/a/f1 src/hard
      ln -s a/f2 src/soft
      mkfifo src/fifo
      truncate -s 5M src/holes
      $BP backup -q --to set src
      """)
  }

  @Test("equal files are up to date at every concurrency", arguments: [1, 2, 7, 32]) func again(
    _ lanes: Int
  ) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      # again NAME OPTION...: restores over what is there. summary ROWS: prints the summary without this number.
      again() {
        ends "$1" $BP restore -j \(lanes) set -C out "${@:2}" 2>errors
      }
      summary() {
        wc -l <errors | says "lines of messages"
        tail -n 1 errors | sed "s/.*Z: //; s/ in [0-9.]* m*s.*;/;/; s/$1/ROWS/g" | says summary
      }
      rows=$(zstdcat set/*.manifest.zst | grep -c '"archive":')
      rows=$((rows - $(zstdcat set/*.manifest.zst | grep -c '"type":"needs"')))
      $BP restore -q set -C out
      touch -d 2020-01-01 out$PWD/src/big
      again "nothing is missing"
      summary $rows
      rm out$PWD/src/a/f3 out$PWD/src/a/f1
      again "a file and a link are missing"
      summary $((rows - 2))
      again "with -v" -v
      ends "all rows are named" test $(grep -c ': up to date$' errors) = $rows
      ends "hard link" test out$PWD/src/hard -ef out$PWD/src/a/f1
      ends "equal folder" diff -r --no-dereference src/a out$PWD/src/a
      """)
    run.expectSteps([
      "nothing is missing": "0", "lines of messages": "1",
      "summary": "0 files; ROWS skipped (ROWS up to date)",
      "a file and a link are missing": "0", "lines of messages": "1",
      "summary": "1 file, 1 link, 2 B; ROWS skipped (ROWS up to date)",
      "with -v": "0", "all rows are named": "0", "hard link": "0", "equal folder": "0",
    ])
  }

  @Test("other files are kept and named, or replaced with --force", arguments: [1, 2, 7, 32]) func other(
    _ lanes: Int
  ) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP restore -q set -C out
      o=out$PWD/src
      echo x >$o/a/f1
      echo 99 >$o/a/f40
      head -c 3M /dev/zero >$o/big
      rm $o/soft
      ln -s a/f3 $o/soft
      rm $o/fifo
      echo >$o/fifo
      ends "restore" $BP restore -j \(lanes) set -C out 2>errors
      counts "kept files" 'exists already (--force replaces it' <errors
      ends "restore --force" $BP restore -q -j \(lanes) --force set -C out
      ends "equal" diff -r --no-dereference -x fifo src $o
      ends "pipe" test -p $o/fifo
      ends "hard link" test $o/hard -ef $o/a/f1
      """)
    run.expectSteps([
      "restore": "3", "kept files": "5", "restore --force": "0", "equal": "0", "pipe": "0", "hard link": "0",
    ])
  }

  @Test(
    "--dry-run prints only what would change, and counts what a restore counts", arguments: ["", "--force"])
  func rehearsed(_ option: String) throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      # both NAME: compares the counts of a dry run, whose rows it prints, with those of the run.
      both() {
        $BP restore -n \(option) set -C out 2>dry | sed "s,out$PWD/,," | sort | says "$1"
        $BP restore \(option) set -C out 2>real
        for f in dry real; do tail -n 1 $f | sed 's/.*Z: //; s/ in [0-9.]* m*s.*//; s/; [0-9.]* [kMG]*B.s$//' >$f.sum; done
        ends "counts of $1" diff dry.sum real.sum
      }
      $BP restore -q set -C out
      both "an unchanged tree"
      o=out$PWD/src
      rm $o/a/f3 $o/soft $o/fifo
      both "some files"
      [ -z "\(option)" ] || echo x >$o/a/f5
      both "a changed file"
      """)
    run.expectSteps([
      "an unchanged tree": "", "counts of an unchanged tree": "0",
      "some files": "src/a/f3 src/fifo src/soft", "counts of some files": "0",
      "a changed file": option.isEmpty ? "" : "src/a/f5: replaced", "counts of a changed file": "0",
    ])
  }

  @Test(
    "--force leaves files that are up to date, and replaces those with other content, metadata or attributes")
  func forced() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      $BP restore -q set -C out
      o=out$PWD/src
      inodes() { (cd $o; find . ! -type d -printf '%P %i\\n' | sort); }
      inodes >before
      ends "again" $BP restore -q --force set -C out
      ends "the same files" diff before <(inodes)
      chmod 600 $o/a/f4
      touch $o/a/f5
      echo 66 >$o/a/f6
      setfattr -n user.a -v b $o/a/f7 || exit
      ln -sf other $o/soft
      ends "with changes" $BP restore -q --force set -C out
      diff before <(inodes) | sed -n 's/^> //p' | cut -d' ' -f1 | says "replaced files"
      ends "modes" test "$(stat -c %a%Y $o/a/f4 $o/a/f5)" = "$(stat -c %a%Y src/a/f4 src/a/f5)"
      """)
    run.expectSteps([
      "again": "0", "the same files": "0", "with changes": "0",
      "replaced files": "a/f4 a/f5 a/f6 a/f7 soft", "modes": "0",
    ])
  }

  @Test("names of one file are joined again when the first of them was missing")
  func joined() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ln src/hard src/a/third
      $BP backup -q --to set src
      $BP restore -q set -C out
      o=out$PWD/src
      rm $o/hard
      $BP restore -n set -C out 2>/dev/null | sed "s,$o/,," | sort | says "dry run"
      ends "the first is missing" $BP restore -q set -C out
      ends "second" test $o/hard -ef $o/a/f1
      ends "third" test $o/hard -ef $o/a/third
      rm $o/hard
      rm $o/a/f1
      echo other >$o/a/f1
      ends "another one has other content" $BP restore -q set -C out 2>err
      grep -c 'src/a/f1: exists already' err | says "named"
      grep -c . err | says "messages"
      """)
    run.expectSteps([
      "dry run": "a/f1: replaced a/third: replaced hard", "the first is missing": "0", "second": "0",
      "third": "0",
      "another one has other content": "3", "named": "1", "messages": "1",
    ])
  }

  @Test(
    "a listed time selects its snapshot for a restore, in each zone", .enabled(if: Host.canPreload),
    arguments: ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"])
  func listed(_ zone: String) throws {
    try t.preload(
      """
      #include <stdlib.h>
      #include <time.h>
      int clock_gettime(clockid_t id, struct timespec *t) {
        static int (*real)(clockid_t, struct timespec *);
        if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
        int result = real(id, t);
        if (id == CLOCK_REALTIME && getenv("NOW")) t->tv_sec = atol(getenv("NOW"));
        return result;
      }
      """)
    let run = try t.shell(
      """
      \(Steps.functions)
      export TZ=\(zone)
      for now in 1795406574 1795407798 1795493000; do
        LD_PRELOAD=$PWD/preload.so NOW=$now $BP backup -q --to days src
      done
      $BP snapshots days >listed
      wc -l <listed | says snapshots
      while read id day time rest; do
        means="means the snapshot $id"
        $BP restore --at "$day $time" -C out-$id days a 2>&1 | grep -q "batchproc: --at $means ($day $time" ||
          echo "restore of $id"
        $BP restore -q --at "${day}T$time" -C t-$id days src || echo "restore of the day of $id"
        $BP snapshots days --at "$day $time" | cut -d' ' -f1 | grep -qx $id || echo "list of $id"
        $BP snapshots days --at "$day $time" --digests 2>&1 | grep -q "$means" || echo "digests of $id"
        $BP drill days --at "$day $time" 2>&1 | grep -q "drilled $id" || echo "drill of $id"
      done <listed
      ends "a time before the first one" $BP restore -C x --at 1999-01-01 days
      ends "no time" $BP restore -C x --at noon days
      ends "a folder is made" test -e x
      """)
    run.expectSteps([
      "snapshots": "3", "a time before the first one": "1", "no time": "64", "a folder is made": "1",
    ])
    #expect(run.errorText.contains("no snapshot is that old; the nearest is 20261123T"), "\(run.errorText)")
  }

  @Test("a link and a FIFO with several names come back as one, also over separate ones")
  func nodes() throws {
    let run = try t.shell(
      """
      \(Steps.functions)
      ln -P src/soft src/a/soft2
      ln src/fifo src/a/fifo2
      ln -s a/f2 src/alone
      $BP backup -q --to set src
      o=out$PWD/src
      ends restore $BP restore -q set -C out
      same() { ends "$1" test "$(stat -c %i $o/$2)" = "$(stat -c %i $o/$3)"; }
      same link soft a/soft2
      same FIFO fifo a/fifo2
      same "another link to the same target" soft alone
      ends "the tree" diff -r --no-dereference -x 'fifo*' src $o
      ends again $BP restore -q set -C out
      rm $o/a/soft2 $o/fifo $o/a/fifo2
      cp -P $o/soft $o/a/soft2
      mkfifo $o/fifo $o/a/fifo2
      ends "over separate ones" $BP restore -q set -C out
      same "joined link" soft a/soft2
      same "joined FIFO" fifo a/fifo2
      ends "a drill" $BP drill -q --all set
      """)
    run.expectSteps([
      "restore": "0", "link": "0", "FIFO": "0", "another link to the same target": "1", "the tree": "0",
      "again": "0", "over separate ones": "0", "joined link": "0", "joined FIFO": "0", "a drill": "0",
    ])
  }
}
